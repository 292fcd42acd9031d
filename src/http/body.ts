// Reads a body into memory up to a limit, and no piece beyond it.

import { type BodyReader, ByteReader, type NextPiece } from "./body-reader.ts";
import { type ByteBudget, freeBytes, type Lease } from "./byte-budget.ts";
import { firstOf } from "./first-of.ts";

export type BoundedBody =
  | { readonly kind: "whole"; readonly body: HeldBody }
  /** Over a limit: how many bytes have been read, and a reader for the whole body from its first byte. */
  | { readonly kind: "over"; readonly readBytes: number; readonly rest: BodyReader };

/** A body in memory. */
export interface HeldBody {
  readonly bytes: Uint8Array;
  /** To be called when it is no longer needed. May be called more than once. */
  free(): void;
}

const EMPTY = new Uint8Array(0);

/** Up to this size a body is always read: small bodies are many, and counting them would cost more than it limits. */
export const SMALL_BYTES = 16 * 1024;

/** A body that takes longer than this is not held in memory. */
const READ_MS = 10_000;

/** Reads a body whose length is known and small. Rejects when it is incomplete. */
export async function readSmall(request: Request): Promise<BoundedBody> {
  return { kind: "whole", body: smallBody(new Uint8Array(await request.arrayBuffer())) };
}

/** To free a buffer of this size at once costs more than it saves. */
function smallBody(bytes: Uint8Array): HeldBody {
  return { bytes, free: () => undefined };
}

/**
 * Reads a body whole if it has no more bytes than `limitBytes`, comes soon, and finds room in `budget`, where it counts as long
 * as it is held. Rejects when the stream breaks.
 */
export async function readBounded(
  stream: ReadableStream<Uint8Array> | null,
  limitBytes: number,
  budget: ByteBudget,
): Promise<BoundedBody> {
  if (stream === null) return { kind: "whole", body: smallBody(EMPTY) };
  return readHeld(new ByteReader(stream), limitBytes, budget);
}

/** The same for a body that is already being read. */
export async function readHeld(reader: BodyReader, limitBytes: number, budget: ByteBudget): Promise<BoundedBody> {
  const begun = Date.now();
  const pieces = new HeldPieces(budget.lease(begun));
  try {
    for (;;) {
      const reading = reader.next();
      const isSmall = pieces.size <= SMALL_BYTES;
      const piece = isSmall ? await reading : await firstOf(reading, begun + READ_MS - Date.now());
      if (piece === null) return over(pieces, reader, reading);
      if (piece.kind === "whole") return { kind: "whole", body: pieces.join() };
      const isHeld = pieces.add(piece.bytes);
      piece.release();
      if (!isHeld || pieces.size > limitBytes) return over(pieces, reader, null);
    }
  } catch (error) {
    pieces.free();
    throw error;
  }
}

function over(pieces: HeldPieces, rest: BodyReader, reading: Promise<NextPiece> | null): BoundedBody {
  // A rejection is for the reader that goes on with it.
  reading?.catch(() => undefined);
  return { kind: "over", readBytes: pieces.size, rest: new PiecesFirst(pieces, rest, reading) };
}

/** The pieces of a body that have been read, within its lease. */
class HeldPieces {
  readonly #lease: Lease;
  readonly #pieces: Uint8Array[] = [];
  /** In bytes. */
  size = 0;

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  /** Keeps a copy of the piece. Returns whether there was room; if not, no more pieces may be added. */
  add(piece: Uint8Array): boolean {
    this.#pieces.push(piece.slice());
    this.size += piece.byteLength;
    const more = countedBytes(this.size) - this.#lease.bytes;
    return more <= 0 || this.#lease.take(more);
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
