// The responses of an exchange: the origin's own, a replay of it, and what the gateway adds to both. Bytes are sent as
// they came, under the content coding that they came with.

import type { Completed } from "../core/record.ts";
import type { EpochMs } from "../core/units.ts";
import { EventSearch } from "../http/event-stream.ts";
import {
  ECHO_HEADER,
  EXPIRES_HEADER,
  type HeaderPairs,
  headersOf,
  REPLAYED_HEADER,
  SMALL_HEADER,
} from "../http/headers.ts";
import type { ExchangeHead } from "../http/message.ts";
import { SMALL_BODY_BYTES } from "../http/replay-memory.ts";
import type { Bodies } from "./bodies.ts";
import { type BodyPosition, START } from "./body-position.ts";
import type { EventOffsets } from "./event-offsets.ts";
import type { StoredBody, StoredResponse } from "./response-rows.ts";
import type { RemoteBodies } from "./remote-bodies.ts";
import { storedStream } from "./stored-stream.ts";

/** The line and the headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
}

type Body = Uint8Array | ReadableStream<Uint8Array>;

/** These have no body, whatever else they say (RFC 9110, section 6.4.1); the runtime refuses to give them one. */
export const NULL_BODY_STATUSES = new Set([101, 204, 205, 304]);

/** The first answer, as the origin gave it. `expiresAt` is set when the record keeps it. */
export function firstAnswer(head: ResponseHead, body: Body, echo: string, expiresAt: EpochMs | null): Response {
  return answer(head, head.headers, body, [[ECHO_HEADER, echo], ...expires(expiresAt)]);
}

/** The first answer while it still comes, for one who came later: from its first byte, or from where he left off. */
export function attachedAnswer(response: ResponseHead, body: Body, head: ExchangeHead): Response {
  return answer(response, replayable(response, head), body, [
    [ECHO_HEADER, head.echo],
    [REPLAYED_HEADER, "true"],
  ]);
}

/** The same answer from the record, but for the headers that the route keeps out of replays; `null` when its body is gone. */
export async function replay(
  stored: StoredResponse,
  record: Completed,
  head: ExchangeHead,
  ledger: BodyStores,
  offsets: EventOffsets,
  caller: AbortSignal | null,
): Promise<Response | null> {
  const from = await seenUpTo(stored, head, (id) => findInStored(stored.body, id, ledger.bodies, offsets, caller));
  const body = await storedBytes(stored.body, ledger, from);
  if (body === null) return null;
  const added: HeaderPairs = [[ECHO_HEADER, head.echo], ...expires(record.expiresAt), [REPLAYED_HEADER, "true"]];
  return answer(stored, replayable(stored, head), body, [...added, ...small(stored.body, head)]);
}

/** Marks what the Worker may remember: see http/replay-memory.ts. What it does not look at there is never marked. */
function small(body: StoredBody, { upload, lastEventId }: ExchangeHead): HeaderPairs {
  const isSmall = body.kind === "inline" && body.bytes.byteLength <= SMALL_BODY_BYTES;
  return isSmall && upload === null && lastEventId === null ? [[SMALL_HEADER, "true"]] : [];
}

/** Where stored bodies lie. */
export interface BodyStores {
  readonly bodies: Bodies;
  readonly remote: RemoteBodies;
}

/**
 * Up to where the client has seen a response already: with the event that it names in `Last-Event-ID`. Nothing of it when
 * it names none, when the event is not found, or when the body is no plain event stream.
 */
export async function seenUpTo(
  { headers }: ResponseHead,
  { lastEventId }: ExchangeHead,
  find: (id: string) => Promise<BodyPosition>,
): Promise<BodyPosition> {
  const value = (wanted: string): string | undefined => headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const isEvents = /^text\/event-stream *(;|$)/i.test(value("content-type") ?? "");
  if (lastEventId === null || !isEvents || value("content-encoding") !== undefined) return START;
  return find(lastEventId);
}

async function findInStored(
  body: StoredBody,
  id: string,
  bodies: Bodies,
  offsets: EventOffsets,
  caller: AbortSignal | null,
): Promise<BodyPosition> {
  switch (body.kind) {
    case "inline": {
      const search = new EventSearch(id);
      search.feed(body.bytes);
      return { ...START, bytes: search.offset ?? 0 };
    }
    case "chunks":
      return findInChunks({ name: body.name, count: body.count }, id, bodies, offsets, caller);
    case "remote":
      // Not searched: it would have to be read whole. The client gets the stream from its first byte.
      return START;
  }
}

/** Of a body that is not erased while it is looked through. */
export async function findInChunks(
  { name, count }: { readonly name: string; readonly count: number },
  id: string,
  bodies: Bodies,
  offsets: EventOffsets,
  caller: AbortSignal | null,
): Promise<BodyPosition> {
  bodies.hold(name);
  try {
    return await offsets.find({ name, chunks: count, read: (chunk) => bodies.read(name, chunk) }, id, caller);
  } finally {
    bodies.release(name);
  }
}

/** The bytes of a stored body from a position on; `null` when they are gone. */
export async function storedBytes(
  body: StoredBody,
  { bodies, remote }: BodyStores,
  from: BodyPosition,
): Promise<Body | null> {
  switch (body.kind) {
    case "inline":
      return body.bytes.subarray(from.bytes);
    case "chunks":
      // A replay that has begun outlives its record.
      bodies.hold(body.name);
      return storedStream(bodies, body, from, () => bodies.release(body.name));
    case "remote": {
      const stream = await remote.open(body.name, from.bytes);
      return stream === null ? null : ofLength(stream, body.size - from.bytes);
    }
  }
}

/** The runtime sets no Content-Length otherwise. */
function ofLength(stream: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(length);
  // A break breaks the other side as well.
  stream.pipeTo(writable).catch(() => undefined);
  return readable;
}

function replayable({ headers }: ResponseHead, { omitHeaders }: ExchangeHead): HeaderPairs {
  return headers.filter(([name]) => !omitHeaders.includes(name.toLowerCase()));
}

function expires(at: EpochMs | null): HeaderPairs {
  return at === null ? [] : [[EXPIRES_HEADER, new Date(at).toUTCString()]];
}

function answer({ status, statusText }: ResponseHead, headers: HeaderPairs, body: Body, added: HeaderPairs): Response {
  const none = NULL_BODY_STATUSES.has(status);
  if (none && body instanceof ReadableStream) void body.cancel();
  return new Response(none ? null : body, {
    status,
    statusText,
    headers: headersOf([...headers, ...added]),
    encodeBody: "manual",
  });
}
