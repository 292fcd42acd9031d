// A JSON-RPC response that was another request's first, under the id of the request that gets it now: a client finds its call by the id, and ids are new each
// time. Of JSON the id alone is replaced, in place. Of an event stream the response is left, as one event: what else the server sent, it sent
// to the first caller.

import type { EditReplay, ReplayRecipient } from "../../kernel/request-feature.ts";
import { ByteReader } from "../../kernel/request/body-reader.ts";
import { readBounded } from "../../kernel/request/body.ts";
import { ByteBudget } from "../../kernel/request/byte-budget.ts";
import { NULL_BODY_STATUSES } from "../../kernel/request/headers.ts";
import { MAX_PLACED_BYTES, textOfJson } from "../../kernel/request/json-places.ts";
import { bodySlicer } from "../../kernel/request/key-places.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";
import { messageStream, EventReader } from "./event-reader.ts";
import { findResponseId } from "./read-call.ts";

/** What all edited answers of an isolate hold. */
const memory = new ByteBudget(16 << 20, 60_000);

/** How long the object may pause between two pieces of what it has stored. */
const IDLE_MS = 30_000;

/** They are about the first answer's bytes. */
const ABOUT_BYTES = [
  "Content-Digest",
  "Repr-Digest",
  "Digest",
  "Content-MD5",
  "ETag",
  "Signature",
  "Signature-Input",
  "Content-Length",
];

export const editReplay: EditReplay = async (answer, to) => {
  const { callId } = to;
  const { body, headers, status } = answer;
  if (callId === null || body === null || NULL_BODY_STATUSES.has(status)) return answer;
  const type = (headers.get("content-type") ?? "").split(";", 1).join("").trim().toLowerCase();
  const isStream = type === "text/event-stream";
  if (!isStream && !/^application\/(?:[^\s]+\+)?json$/.test(type)) return answer;
  const coding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  // Its id cannot be read: under it, its client would wait for ever.
  if (coding !== "identity") return notKept(answer, to);
  return isStream ? editStream(answer, body, callId, to) : editJson(answer, body, callId, to);
};

async function editJson(
  answer: Response,
  body: ReadableStream<Uint8Array>,
  callId: string,
  to: ReplayRecipient,
): Promise<Response> {
  const read = await readBounded(body, {
    limitBytes: MAX_PLACED_BYTES,
    budget: memory,
    idleMs: IDLE_MS,
    unlessHeld: "refuse",
    caller: to.caller,
  });
  if (read.kind !== "whole") {
    read.rest?.cancel();
    return read.kind === "over"
      ? notKept(answer, to)
      : problemResponse({ code: "store-unavailable" }, to.echo, to.instance);
  }
  const { bytes } = read.body;
  const edited = await withCallId(bytes, callId, to);
  return edited === null ? answerWith(answer, bytes) : answerWith(answer, edited, ABOUT_BYTES);
}

/** The message under this id; `null`: it has it already, or it is no response to a call. */
async function withCallId(bytes: Uint8Array, callId: string, { caller }: ReplayRecipient): Promise<Uint8Array | null> {
  const text = textOfJson(bytes);
  const id = text === null ? null : await bodySlicer.run(findResponseId(text), caller);
  if (text === null || id === null || text.slice(id.from, id.to) === callId) return null;
  return encoder.encode(text.slice(0, id.from) + callId + text.slice(id.to));
}

const encoder = new TextEncoder();

async function editStream(
  answer: Response,
  body: ReadableStream<Uint8Array>,
  callId: string,
  to: ReplayRecipient,
): Promise<Response> {
  const reader = new ByteReader(body);
  const events = new EventReader(MAX_PLACED_BYTES);
  for (let piece = await reader.next(); piece.kind === "bytes"; piece = await reader.next()) {
    for (const { data, isMessage } of events.feed(piece.bytes)) {
      const text = data === null || !isMessage ? null : textOfJson(data);
      if (text === null || data === null || (await bodySlicer.run(findResponseId(text), to.caller)) === null) continue;
      reader.cancel();
      return answerWith(answer, messageStream((await withCallId(data, callId, to)) ?? data), ABOUT_BYTES);
    }
    piece.release();
  }
  return notKept(answer, to);
}

function answerWith(
  { status, statusText, headers }: Response,
  bytes: Uint8Array,
  dropped: readonly string[] = [],
): Response {
  const own = new Headers(headers);
  for (const name of dropped) own.delete(name);
  return new Response(bytes, { status, statusText, headers: own });
}

/** The operation took effect, and its response cannot be given to this call. */
function notKept({ status, body }: Response, { echo, instance }: ReplayRecipient): Response {
  void body?.cancel().catch(() => undefined);
  return problemResponse({ code: "response-not-kept", originalStatus: status }, echo, instance);
}
