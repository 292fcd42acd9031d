// A stored body as a stream: in pieces that are as large as the memory of the isolate allows.

import { type NextPiece, type Piece, skipBytes, WHOLE } from "../../http/body-reader.ts";
import { type Bodies, CHUNK_BYTES } from "../store/bodies.ts";
import { bytePipe, type Patience } from "./byte-pipe.ts";
import type { BodyPosition } from "./event-offsets.ts";
import { fairPieceBytes, heldPiece } from "./read-memory.ts";

export interface StoredChunks {
  readonly name: string;
  readonly count: number;
  readonly size: number;
}

/** The place of a reader that reads a body chunk by chunk, each in one piece or in several. */
export class ChunkCursor {
  readonly #bodies: Bodies;
  readonly #body: string;
  /** The chunk that is being read, and how much of it has been. */
  number: number;
  at = 0;

  constructor(bodies: Bodies, body: string, first: number) {
    this.#bodies = bodies;
    this.#body = body;
    this.number = first;
  }

  /** The next piece of the chunk; `null` when nothing was left of it. Goes on to the next chunk at the end of this one. */
  read(): Piece | null {
    const most = fairPieceBytes();
    const bytes = this.#bodies.readPart(this.#body, this.number, this.at, most);
    // Thrown, so that half a body never looks whole.
    if (bytes === null) throw new Error(`chunk ${this.number} is gone`);
    this.at += bytes.byteLength;
    if (bytes.byteLength < most || this.at >= CHUNK_BYTES) this.skip();
    return bytes.byteLength === 0 ? null : heldPiece(bytes);
  }

  /** Goes on to the next chunk. */
  skip(): void {
    this.number += 1;
    this.at = 0;
  }
}

/** A body in chunks, from a position on. `close` is called once, when nothing more is read. */
export function storedStream(
  bodies: Bodies,
  { name, count, size }: StoredChunks,
  from: BodyPosition,
  close: () => void,
  patience: Patience | null,
): ReadableStream<Uint8Array> {
  const cursor = new ChunkCursor(bodies, name, from.chunk);
  const next = (): NextPiece => {
    while (cursor.number < count) {
      const piece = cursor.read();
      if (piece !== null) return piece;
    }
    return WHOLE;
  };
  const body = { next: async () => next(), cancel: close };
  return bytePipe(skipBytes(body, from.bytes - from.before), size - from.bytes, patience).readable;
}

/** A body in its record's row, from a byte on. `read` gives a part of it; `close` is called once, when nothing more is read. */
export function rowStream(
  read: (from: number, most: number) => Uint8Array | null,
  size: number,
  from: number,
  close: () => void,
  patience: Patience | null,
): ReadableStream<Uint8Array> {
  let at = from;
  const next = (): NextPiece => {
    if (at === size) return WHOLE;
    const bytes = read(at, fairPieceBytes());
    if (bytes === null || bytes.byteLength === 0) throw new Error("the body is gone");
    at += bytes.byteLength;
    return heldPiece(bytes);
  };
  return bytePipe({ next: async () => next(), cancel: close }, size - from, patience).readable;
}
