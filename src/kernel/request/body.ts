// Reads a body into memory up to a limit, and no piece beyond it. A body that comes too slowly is not waited for. How much of the body of a
// request may be held, and whether it flows instead, its route decides (`readBody`).

import { type BodyReader, ByteReader, type NextPiece } from "./body-reader.ts";
import { ByteBudget, freeBytes, type ByteLease } from "./byte-budget.ts";
import { firstOf } from "./first-of.ts";
import { ReadingPace } from "./pace.ts";
import type { WaitingCaller } from "./time-slicer.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { Route } from "../config/resolved.ts";
import { declaredLength, type HeadersView } from "./headers.ts";
import type { ExchangeIntent } from "./intent.ts";
import { WHOLE_BODY_BYTES } from "./message.ts";
import { isAccepted, preferencesIn } from "./prefer.ts";

/** A body of which the rest will not come. */
export const BROKEN_BODY = {
  code: "request-invalid",
  reason: "The request's body broke off or is malformed.",
} as const satisfies ClientProblem;

/** A body that stood still, or trickled. */
export const LATE_BODY = {
  code: "request-invalid",
  reason: "The request's body came too slowly.",
  isLate: true,
} as const satisfies ClientProblem;

export type BoundedBody =
  | { readonly kind: "whole"; readonly body: HeldBody }
  /** Over a limit: how many bytes have been read, and a reader for the whole body from its first byte. */
  | { readonly kind: "over"; readonly readBytes: number; readonly rest: BodyReader }
  | UnheldBody;

/** A body that is refused, because it came too slowly, or because it had to be held and faster ones took the room. */
export interface UnheldBody {
  readonly kind: "late" | "no-room";
  /** What is still to be taken off the wire. */
  readonly rest: BodyReader | null;
}

/** A body in memory. */
export interface HeldBody {
  readonly bytes: Uint8Array;
  /** To be called when it is no longer needed. May be called more than once. */
  free(): void;
}

/** How a body is read. */
export interface HoldRules {
  readonly limitBytes: number;
  /** Where it counts as long as it is held. */
  readonly budget: ByteBudget;
  /** How long it may take to bring 16 KiB (pace.ts). */
  readonly idleMs: number;
  /**
   * What happens to a body that has more than a few bytes and comes slowly, or finds no room: it flows on to where it is not held, or it
   * has to be held, and the slowest of all bodies is refused.
   */
  readonly unlessHeld: "flow" | "refuse";
  /** Whose memory is free when nobody waits any more. */
  readonly caller: WaitingCaller | null;
}

const EMPTY = new Uint8Array(0);

/** Up to this size a body is always read: small bodies are many, and counting them would cost more than it limits. */
export const SMALL_BYTES = 16 * 1024;

/** A body that can flow is not held in memory when it takes longer than this. */
const HELD_MS = 10_000;

/** Nor when it takes so long to bring another 16 KiB. */
const HELD_STEP_MS = 2_000;

/** Reads a body whose length is known and small. Rejects when it is incomplete. */
export async function readSmall(request: Request, idleMs: number): Promise<BoundedBody> {
  const bytes = await firstOf(request.arrayBuffer(), idleMs);
  return bytes === null ? { kind: "late", rest: null } : { kind: "whole", body: smallBody(new Uint8Array(bytes)) };
}

/** To free a buffer of this size at once costs more than it saves. */
function smallBody(bytes: Uint8Array): HeldBody {
  return { bytes, free: () => undefined };
}

/** Reads a body whole if it has no more bytes than the limit, comes soon, and finds room. Rejects when the stream breaks. */
export async function readBounded(stream: ReadableStream<Uint8Array> | null, rules: HoldRules): Promise<BoundedBody> {
  if (stream === null) return { kind: "whole", body: smallBody(EMPTY) };
  return readHeld(new ByteReader(stream), rules);
}

/** The same for a body that is already being read. */
export async function readHeld(reader: BodyReader, rules: HoldRules): Promise<BoundedBody> {
  const { limitBytes, budget, idleMs, unlessHeld, caller } = rules;
  // No clock that is set during the body shortens or lengthens its time.
  const begun = performance.now();
  const pieces = new HeldPieces(budget.lease(Date.now(), caller), unlessHeld);
  const pace = new ReadingPace(idleMs);
  const heldPace = new ReadingPace(HELD_STEP_MS);
  try {
    for (;;) {
      const reading = reader.next();
      const now = performance.now();
      const canFlow = unlessHeld === "flow" && pieces.size > SMALL_BYTES;
      const heldMs = canFlow ? Math.min(heldPace.leftMs, begun + HELD_MS - now) : Number.POSITIVE_INFINITY;
      const given = pieces.isCounted ? Promise.race([reading, pieces.givenUp]) : reading;
      const piece = await firstOf(given, Math.min(pace.leftMs, heldMs));
      if (pieces.areGivenUp || piece === "given up") return unheld("no-room", pieces, reader, reading);
      if (piece === null) return canFlow ? over(pieces, reader, reading) : unheld("late", pieces, reader, reading);
      if (piece.kind === "whole") return { kind: "whole", body: pieces.join() };
      const waitedMs = performance.now() - now;
      for (const one of [pace, heldPace]) one.came(piece.bytes.byteLength, waitedMs);
      const isHeld = pieces.add(piece.bytes);
      piece.release();
      if (pieces.size > limitBytes || (!isHeld && unlessHeld === "flow")) return over(pieces, reader, null);
      if (!isHeld) return unheld("no-room", pieces, reader, null);
    }
  } catch (error) {
    pieces.free();
    throw error;
  }
}

function over(pieces: HeldPieces, rest: BodyReader, reading: Promise<NextPiece> | null): BoundedBody {
  // A rejection is for the reader that goes on with it.
  reading?.catch(() => undefined);
  pieces.settle();
  return { kind: "over", readBytes: pieces.size, rest: new PiecesFirst(pieces, rest, reading) };
}

/** Frees what has been read at once. */
function unheld(
  kind: UnheldBody["kind"],
  pieces: HeldPieces,
  rest: BodyReader,
  reading: Promise<NextPiece> | null,
): UnheldBody {
  reading?.catch(() => undefined);
  pieces.free();
  return { kind, rest: new PiecesFirst(pieces, rest, reading) };
}

/** The pieces of a body that have been read, within its lease. */
class HeldPieces {
  readonly #lease: ByteLease;
  readonly #giveUp: (() => void) | null;
  readonly #pieces: Uint8Array[] = [];
  readonly #givenUp = Promise.withResolvers<"given up">();
  /** In bytes. */
  size = 0;
  areGivenUp = false;

  /** If the body must be held, a slower one is given up for a faster one. */
  constructor(lease: ByteLease, unlessHeld: HoldRules["unlessHeld"]) {
    this.#lease = lease;
    const giveUp = (): void => {
      this.areGivenUp = true;
      this.free();
      this.#givenUp.resolve("given up");
    };
    this.#giveUp = unlessHeld === "refuse" ? giveUp : null;
  }

  get isCounted(): boolean {
    return this.#lease.bytes > 0;
  }

  /** Resolves when a faster body has got the room, and the pieces are gone. */
  get givenUp(): Promise<"given up"> {
    return this.#givenUp.promise;
  }

  /** Keeps a copy of the piece. Returns whether there was room; if not, no more pieces may be added. */
  add(piece: Uint8Array): boolean {
    this.#pieces.push(piece.slice());
    this.size += piece.byteLength;
    const more = countedBytes(this.size) - this.#lease.bytes;
    return more <= 0 || this.#lease.take(more, this.#giveUp);
  }

  /** No more pieces are added, and these are not given up. */
  settle(): void {
    this.#lease.settle();
  }

  /** Removes the first piece, which no longer counts; `null` when there is none. */
  shift(): Uint8Array | null {
    const piece = this.#pieces.shift() ?? null;
    this.size -= piece?.byteLength ?? 0;
    this.#lease.shrinkTo(countedBytes(this.size));
    return piece;
  }

  /** All pieces as one body, which counts like the pieces before. */
  join(): HeldBody {
    this.settle();
    const bytes = joinBytes(this.#pieces);
    if (this.#pieces.length > 1) for (const piece of this.#pieces) freeBytes(piece);
    const free = (): void => {
      freeBytes(bytes);
      this.#lease.shrinkTo(0);
    };
    return { bytes, free };
  }

  free(): void {
    for (let piece = this.shift(); piece !== null; piece = this.shift()) freeBytes(piece);
  }
}

function countedBytes(size: number): number {
  return Math.max(0, size - SMALL_BYTES);
}

/** A body whose first pieces have already been read. */
class PiecesFirst implements BodyReader {
  readonly #pieces: HeldPieces;
  readonly #rest: BodyReader;
  /** The next piece of the rest, which has already been requested. */
  #reading: Promise<NextPiece> | null;

  constructor(pieces: HeldPieces, rest: BodyReader, reading: Promise<NextPiece> | null) {
    this.#pieces = pieces;
    this.#rest = rest;
    this.#reading = reading;
  }

  async next(): Promise<NextPiece> {
    const bytes = this.#pieces.shift();
    if (bytes !== null) return { kind: "bytes", bytes, release: () => freeBytes(bytes) };
    const reading = this.#reading ?? this.#rest.next();
    this.#reading = null;
    return reading;
  }

  cancel(): void {
    this.#pieces.free();
    this.#rest.cancel();
  }
}

/** Joins pieces. A single piece is returned without a copy. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (only === undefined) return EMPTY;
  if (pieces.length === 1) return only;
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}

/** How many body bytes all requests of one isolate may hold before a shard has taken them; beyond that, bodies flow through. */
const HELD_BYTES = 12 << 20;

/** The longest that any of them is held: it is read soon or not held, and then offered three times at most. */
const LEASE_MS = 60_000;

/** Counts the body bytes that the requests of this isolate hold. */
export const requestMemory = new ByteBudget(HELD_BYTES, LEASE_MS);

/** The same for bodies in which a key may be: they cannot flow, so bodies that can take no room from them. */
const searchMemory = new ByteBudget(HELD_BYTES, LEASE_MS);

/** A body that is whole, or goes on. */
export type HeldOrFlowing = Exclude<BoundedBody, UnheldBody>;

export type ReadBody =
  | HeldOrFlowing
  | { readonly kind: "too-large"; readonly rest: BodyReader }
  /** Not to be had: the problem says why. */
  | { readonly kind: "refuse"; readonly problem: ClientProblem; readonly rest: BodyReader | null };

/** Reads a body as far as it may be held. `purpose`: a body in which a key is looked for has to be held whole. */
export async function readBody(
  { request, headers, route }: Pick<ExchangeIntent, "request" | "headers" | "route">,
  purpose: "forward" | "search",
): Promise<ReadBody> {
  const limitBytes = flowsThrough(route, headers) ? Number.POSITIVE_INFINITY : route.maxRequestBodyBytes;
  const length = declaredLength(headers);
  if (length !== null && length > limitBytes && request.body !== null) {
    return { kind: "too-large", rest: new ByteReader(request.body) };
  }
  const bound = Math.min(WHOLE_BODY_BYTES, limitBytes);
  const isSmall = length !== null && length <= Math.min(SMALL_BYTES, bound);
  const { idleTimeoutMs } = route.rules;
  const reading = isSmall
    ? readSmall(request, idleTimeoutMs)
    : readBounded(request.body, {
        limitBytes: bound,
        budget: purpose === "search" ? searchMemory : requestMemory,
        idleMs: idleTimeoutMs,
        unlessHeld: purpose === "search" ? "refuse" : "flow",
        caller: request,
      });
  const body = await reading.catch(() => null);
  if (body === null) return { kind: "refuse", problem: BROKEN_BODY, rest: null };
  switch (body.kind) {
    case "late":
      return { kind: "refuse", problem: LATE_BODY, rest: body.rest };
    case "no-room":
      return { kind: "refuse", problem: { code: "store-unavailable" }, rest: body.rest };
    case "over":
      return body.readBytes > limitBytes ? { kind: "too-large", rest: body.rest } : body;
    case "whole":
      return body;
  }
}

/** Where the route compares no bodies, any size is good, unless the request is stored to be tried later. */
function flowsThrough({ fingerprint, async }: Route, headers: HeadersView): boolean {
  if (fingerprint.body !== "none") return false;
  return async === "never" || !isAccepted(async, preferencesIn(headers.get("prefer")));
}

/** The body of a request that is refused before it is read: a client may send all of it before it reads the answer (drain.ts). */
export function unreadOf({ body }: Request, headers: HeadersView): BodyReader | null {
  const isSmall = (declaredLength(headers) ?? Number.POSITIVE_INFINITY) <= SMALL_BYTES;
  return body === null || isSmall ? null : new ByteReader(body);
}
