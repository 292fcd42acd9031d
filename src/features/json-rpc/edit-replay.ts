// A JSON-RPC response that was another request's first, under the id of the request that gets it now: a client finds its call by the id, and ids are new each
// time. Of JSON the id is replaced, in place, and the members that the route says. Of an event stream the response is left, as one event: what else the server sent, it sent
// to the first caller.

import type { EditReplay, ReplayRecipient } from "../../kernel/request-feature.ts";
import { type BodyReader, ByteReader } from "../../kernel/request/body-reader.ts";
import { readBounded, SMALL_BYTES } from "../../kernel/request/body.ts";
import { ByteBudget } from "../../kernel/request/byte-budget.ts";
import { firstOf } from "../../kernel/request/first-of.ts";
import { REPLAYED_HEADER } from "../../kernel/request/headers.ts";
import { MAX_PLACED_BYTES, textOfJson } from "../../kernel/request/json-places.ts";
import { bodySlicer } from "../../kernel/request/key-places.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";
import { messageStream, EventReader } from "./event-reader.ts";
import { findResponseId } from "./read-call.ts";
import { setMembers } from "./set-members.ts";

/** What all edited answers of an isolate hold. */
const memory = new ByteBudget(16 << 20, 60_000);

/** How long the object may pause between two pieces of what it has stored, and a client before it takes what it is given. */
const IDLE_MS = 30_000;

/** How soon a client may ask again that has waited for an attempt which was refused. */
const REFUSED_RETRY_MS = 1000;

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
  if (callId === null) return answer;
  // Who has waited for an attempt that was refused gets its answer, which is nobody's result.
  const own = to.members.length === 0 || headers.has(REPLAYED_HEADER) ? to : { ...to, members: [] };
  const type = (headers.get("content-type") ?? "").split(";", 1).join("").trim().toLowerCase();
  const isStream = type === "text/event-stream";
  if (body === null || (!isStream && !/^application\/(?:[^\s]+\+)?json$/.test(type))) {
    // It was a notification's, or the response comes elsewhere: the client would wait for it for ever.
    return WITHOUT_RESPONSE.has(status) ? notGiven(answer, to) : answer;
  }
  const coding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  // Its id cannot be read: under it, its client would wait for ever.
  if (coding !== "identity") return notGiven(answer, to);
  return isStream ? editStream(answer, body, callId, own) : editJson(answer, body, callId, own);
};

/** What a server of MCP answers to what is no call. */
const WITHOUT_RESPONSE: ReadonlySet<number> = new Set([202, 204]);

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
    return read.kind === "over" ? notGiven(answer, to) : noRoom(to);
  }
  const edited = await forCall(read.body.bytes, callId, to);
  const bytes = edited ?? read.body.bytes.slice();
  read.body.free();
  return answerWith(answer, bytes, edited === null ? [] : ABOUT_BYTES, to);
}

/** The message as this call gets it; `null`: it is so already, or it is no response to a call. */
async function forCall(bytes: Uint8Array, callId: string, to: ReplayRecipient): Promise<Uint8Array | null> {
  const marked = textOfJson(bytes);
  // Some servers write a byte order mark. Clients skip it (Fetch, "body mixin"), and it is no JSON.
  const text = marked?.startsWith("\ufeff") === true ? marked.slice(1) : marked;
  const id = text === null ? null : await bodySlicer.run(findResponseId(text), to.caller);
  if (text === null || id === null) return null;
  const named = text.slice(0, id.from) + callId + text.slice(id.to);
  const edited = to.members.length === 0 ? named : await bodySlicer.run(setMembers(named, to.members), to.caller);
  return edited === text ? null : encoder.encode(edited);
}

const encoder = new TextEncoder();

async function editStream(
  answer: Response,
  body: ReadableStream<Uint8Array>,
  callId: string,
  to: ReplayRecipient,
): Promise<Response> {
  const reader = new ByteReader(body);
  const message = await responseIn(reader, to).finally(() => reader.cancel());
  if (message === "none") return notGiven(answer, to);
  if (message === "no room") return noRoom(to);
  return answerWith(answer, messageStream((await forCall(message, callId, to)) ?? message), ABOUT_BYTES, to);
}

async function responseIn(reader: BodyReader, { caller }: ReplayRecipient): Promise<Uint8Array | "none" | "no room"> {
  const events = new EventReader(MAX_PLACED_BYTES);
  const lease = memory.lease(Date.now(), caller);
  try {
    for (;;) {
      const piece = await firstOf(reader.next(), IDLE_MS);
      if (piece === null) return "no room";
      if (piece.kind === "whole") return "none";
      for (const { data, isMessage } of events.feed(piece.bytes)) {
        const text = data === null || !isMessage ? null : textOfJson(data);
        if (text !== null && data !== null && (await bodySlicer.run(findResponseId(text), caller)) !== null)
          return data;
      }
      piece.release();
      const more = events.heldBytes - lease.bytes;
      lease.shrinkTo(events.heldBytes);
      if (events.heldBytes > SMALL_BYTES && more > 0 && !lease.take(more)) return "no room";
    }
  } finally {
    lease.shrinkTo(0);
  }
}

function answerWith(
  { status, statusText, headers }: Response,
  bytes: Uint8Array,
  dropped: readonly string[],
  to: ReplayRecipient,
): Response {
  const own = new Headers(headers);
  for (const name of dropped) own.delete(name);
  const body = bytes.byteLength <= SMALL_BYTES ? bytes : heldBody(bytes);
  return body === null ? noRoom(to) : new Response(body, { status, statusText, headers: own });
}

/** A body that counts until its client has taken it. A client that is slow with it makes room for others; `null`: there is none. */
function heldBody(bytes: Uint8Array): ReadableStream<Uint8Array> | null {
  const lease = memory.lease(Date.now());
  let body: ReadableStreamDefaultController<Uint8Array> | null = null;
  let idle: ReturnType<typeof setTimeout> | null = null;
  const end = (): void => {
    if (idle !== null) clearTimeout(idle);
    lease.shrinkTo(0);
  };
  const giveUp = (): void => {
    end();
    body?.error(new Error("the client did not take its answer, whose memory others need"));
  };
  if (!lease.take(bytes.byteLength, giveUp)) return null;
  let at = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (idle !== null) clearTimeout(idle);
    if (at === bytes.byteLength) {
      end();
      controller.close();
      return;
    }
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    at += piece.byteLength;
    controller.enqueue(piece);
    idle = setTimeout(giveUp, IDLE_MS);
  };
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    body = controller;
    idle = setTimeout(giveUp, IDLE_MS);
  };
  return new ReadableStream({ start, pull, cancel: end }, { highWaterMark: 0 });
}

/** How much of an answer its client is given at a time. */
const PIECE_BYTES = 64 * 1024;

function noRoom({ echo, instance }: ReplayRecipient): Response {
  return problemResponse({ code: "store-unavailable" }, echo, instance);
}

/** Its response cannot be given to this call: the operation took effect, or it was refused, and the next try may act. */
function notGiven({ status, body, headers }: Response, { echo, instance }: ReplayRecipient): Response {
  void body?.cancel().catch(() => undefined);
  return headers.has(REPLAYED_HEADER)
    ? problemResponse({ code: "response-not-kept", originalStatus: status }, echo, instance)
    : problemResponse({ code: "in-flight", retryAfterMs: REFUSED_RETRY_MS }, echo, instance);
}
