// The answers of an exchange: the origin's response, a replay of it, or a problem, with the headers that the gateway adds. Bytes
// are sent unchanged, in the content coding in which they came.

import type { Completed } from "../record/record.ts";
import type { NoResult } from "../record/verdict.ts";
import type { EpochMs } from "../record/units.ts";
import { freeBytes } from "../request/byte-budget.ts";
import { ByteReader, type NextPiece, skipBytes, WHOLE } from "../request/body-reader.ts";
import { EventSearch } from "../resume/event-stream.ts";
import {
  ECHO_HEADER,
  EXPIRES_HEADER,
  type HeaderPairs,
  REPLAYED_HEADER,
  SMALL_HEADER,
  STATUS_HEADER,
} from "../request/headers.ts";
import type { ExchangeHead, ReplayHead } from "../request/message.ts";
import { SMALL_BODY_BYTES } from "../request/replay-cache.ts";
import type { BodyStore } from "../store/bodies.ts";
import { type BodyCipher, placeInChunk } from "../encryption/body-cipher.ts";
import { decryptingReader } from "../encryption/encrypted-reader.ts";
import { bytePipe, type ReaderPatience } from "../body/byte-pipe.ts";
import { type BodyPosition, type EventOffsets, START } from "../resume/event-offsets.ts";
import { heldPiece, isFair } from "../body/read-memory.ts";
import { type AnswerBody, type ExchangeAnswer, originAnswer, type ResponseHead } from "./exchange-answer.ts";
import { openResponse } from "../encryption/encrypted-response.ts";
import type { RemoteBodies } from "../overflow/remote-bodies.ts";
import {
  type ChunkedBody,
  isEncrypted,
  type KeptResponse,
  type StoredBody,
  type StoredResponse,
} from "../store/response-rows.ts";
import { storedStream } from "../body/stored-stream.ts";
import type { ObjectTimers } from "./timers.ts";

/** Makes the answer for each request that shares it, with that request's own echo. */
export type AnswerFor = (head: ExchangeHead) => ExchangeAnswer;

/** How soon a client may ask again while an attempt is in flight; most calls are over by then. */
export const POLL_MS = 1000;

/** The first answer, as the origin sent it. `expiresAt` is set when the record keeps the response. */
export function firstAnswer(
  head: ResponseHead,
  body: AnswerBody,
  echo: string,
  expiresAt: EpochMs | null,
): ExchangeAnswer {
  return originAnswer("first", head, head.headers, body, [
    [ECHO_HEADER, echo],
    [STATUS_HEADER, "first"],
    ...expires(expiresAt),
  ]);
}

/**
 * The origin's answer that is no result, for the request whose attempt it ends (`first`), and for those that have waited for it: without what a replay
 * leaves out, such as the session of the first.
 */
export function passedAnswer(
  response: ResponseHead,
  body: AnswerBody,
  of: NoResult,
  head: ReplayHead,
  status: "first" | "attached",
): ExchangeAnswer {
  const headers = status === "first" ? response.headers : replayedHeaders(response, head);
  return originAnswer(of, response, headers, body, [
    [ECHO_HEADER, head.request.echo],
    [STATUS_HEADER, status],
  ]);
}

/** The first answer while it is still arriving, for a later request: from the first byte, or from where that client left off. */
export function attachedAnswer(response: ResponseHead, body: AnswerBody, head: ExchangeHead): ExchangeAnswer {
  return originAnswer("attached", response, replayedHeaders(response, head), body, [
    [ECHO_HEADER, head.request.echo],
    [STATUS_HEADER, "attached"],
    [REPLAYED_HEADER, "true"],
  ]);
}

/** What a replay is made from. */
export interface ReplaySource {
  readonly record: Completed;
  readonly stored: KeptResponse;
}

export interface ReplayPorts {
  readonly ledger: BodyStores;
  readonly timers: ObjectTimers;
  readonly offsets: EventOffsets;
}

/**
 * The first answer from the record, without the headers that the route omits in replays, if its body has been read with the record
 * and the client wants all of it; otherwise `null`. Most replays are such ones: nothing has to be waited for.
 */
export function replayAtOnce({ record, stored }: ReplaySource, head: ReplayHead): ExchangeAnswer | null {
  const { body } = stored;
  if (body.kind !== "inline" || head.request.lastEventId !== null || isEncrypted(stored)) return null;
  return replayWith(body.bytes, record, stored, head);
}

/** Any replay; `null` when its body is gone, or when it does not open. */
export async function replayAnswer(
  { record, stored: kept }: ReplaySource,
  head: ReplayHead,
  caller: AbortSignal | null,
  { ledger, timers, offsets }: ReplayPorts,
): Promise<ExchangeAnswer | null> {
  const opened = isEncrypted(kept) ? await openResponse(kept, head) : { stored: kept, cipher: null };
  if (opened === null) return null;
  const { stored, cipher } = opened;
  const source = { stores: ledger, cipher };
  const from = await seenUpTo(stored, head, (id) => findInStored(stored.body, id, source, offsets, caller));
  const body = await readStoredBody(stored.body, source, from, { timers, idleMs: head.rules.idleTimeoutMs });
  return body === null ? null : replayWith(body, record, stored, head);
}

function replayWith(body: AnswerBody, record: Completed, stored: StoredResponse, head: ReplayHead): ExchangeAnswer {
  const added: HeaderPairs = [
    [ECHO_HEADER, head.request.echo],
    [STATUS_HEADER, "replayed"],
    ...expires(record.expiresAt),
    [REPLAYED_HEADER, "true"],
  ];
  return originAnswer("replay", stored, replayedHeaders(stored, head), body, [...added, ...small(stored.body, head)]);
}

/** Marks replays that the Worker may cache (kernel/request/replay-cache.ts). The cache is not used for uploads or resumed streams. */
function small(body: StoredBody, { request: { upload, lastEventId, isCached } }: ReplayHead): HeaderPairs {
  const isSmall = isCached && body.kind === "inline" && body.bytes.byteLength <= SMALL_BODY_BYTES;
  return isSmall && upload === null && lastEventId === null ? [[SMALL_HEADER, "true"]] : [];
}

/** Where stored bodies are. */
export interface BodyStores {
  readonly bodies: BodyStore;
  readonly remote: RemoteBodies;
}

/** Where a stored body is read from, and what decrypts it; `null` if it is not encrypted. */
export interface BodySource {
  readonly stores: BodyStores;
  readonly cipher: BodyCipher | null;
}

/**
 * Where the client left off in a response: after the event that it names in `Last-Event-ID`. The start if it names none, if the
 * event is not found, or if the body is not an uncompressed event stream.
 */
export async function seenUpTo(
  { headers }: ResponseHead,
  { request: { lastEventId } }: Pick<ReplayHead, "request">,
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
  { stores: { bodies }, cipher }: BodySource,
  offsets: EventOffsets,
  caller: AbortSignal | null,
): Promise<BodyPosition> {
  switch (body.kind) {
    case "inline":
      return findIn(body.bytes, id);
    case "chunks":
      return findInChunks({ ...body, bodies, cipher }, id, offsets, caller);
    case "remote":
      // Not searched, because all of it would have to be read. The client gets the stream from its first byte.
      return START;
  }
}

function findIn(bytes: Uint8Array, id: string): BodyPosition {
  const search = new EventSearch(id);
  search.feed(bytes);
  return { ...START, bytes: search.offset ?? 0 };
}

/** Chunks in which an event is searched for. */
type SearchedChunks = Pick<ChunkedBody, "body" | "count"> & Pick<BodyStores, "bodies"> & Pick<BodySource, "cipher">;

/** Holds the body, so that it is not erased during the search. */
export async function findInChunks(
  { body, count, bodies, cipher }: SearchedChunks,
  id: string,
  offsets: EventOffsets,
  caller: AbortSignal | null,
): Promise<BodyPosition> {
  bodies.hold(body);
  try {
    const read = (chunk: number): Uint8Array | null | Promise<Uint8Array> => {
      const bytes = bodies.read(body, chunk);
      return bytes === null || cipher === null ? bytes : cipher.decrypt(bytes, placeInChunk(chunk, 0));
    };
    return await offsets.find({ body, chunks: count, read }, id, caller);
  } finally {
    bodies.release(body);
  }
}

/** The bytes of a stored body from a position on; `null` when they are gone. */
export async function readStoredBody(
  body: StoredBody,
  { stores: { bodies, remote }, cipher }: BodySource,
  from: BodyPosition,
  patience: ReaderPatience,
): Promise<AnswerBody | null> {
  switch (body.kind) {
    case "inline":
      return body.bytes.subarray(from.bytes);
    // Held, because a replay that has begun may last longer than its record.
    case "chunks":
      bodies.hold(body.body);
      return storedStream(bodies, body, { from, close: () => bodies.release(body.body), patience, cipher });
    case "remote": {
      const stream = await remote.open(body.name, cipher === null ? from.bytes : 0);
      if (stream === null) return null;
      const stored = new ByteReader(stream);
      const reader = cipher === null ? stored : skipBytes(decryptingReader(stored, cipher), from.bytes);
      // Piped, so that an idle reader is disconnected. R2's stream has no length of its own.
      return bytePipe(reader, body.size - from.bytes, patience).readable;
    }
  }
}

/** Up to this size, the runtime may hold an answer until its client has taken it. */
const LEFT_TO_RUNTIME_BYTES = 16 * 1024;

/**
 * The bytes of a first answer that has arrived whole. They are freed when the client has taken them. If the isolate holds too much
 * memory, they are freed at once, and `reopen` reads them from the record; it gives `null` when the record does not keep them.
 */
export async function wholeBody(
  bytes: Uint8Array,
  reopen: () => Promise<AnswerBody | null>,
  patience: ReaderPatience,
): Promise<AnswerBody> {
  if (bytes.byteLength <= LEFT_TO_RUNTIME_BYTES) return bytes;
  if (!isFair(bytes.byteLength)) {
    const stored = await reopen().catch(() => null);
    if (stored !== null) {
      freeBytes(bytes);
      return stored;
    }
  }
  let left: Uint8Array | null = bytes;
  const next = (): Promise<NextPiece> => {
    const piece = left === null ? WHOLE : heldPiece(left);
    left = null;
    return Promise.resolve(piece);
  };
  return bytePipe({ next, cancel: () => undefined }, bytes.byteLength, patience).readable;
}

function replayedHeaders({ headers }: ResponseHead, { rules: { omitHeaders } }: ReplayHead): HeaderPairs {
  return headers.filter(([name]) => !omitHeaders.includes(name.toLowerCase()));
}

function expires(at: EpochMs | null): HeaderPairs {
  return at === null ? [] : [[EXPIRES_HEADER, new Date(at).toUTCString()]];
}
