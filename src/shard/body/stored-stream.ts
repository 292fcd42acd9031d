// A stored body as a stream, in pieces as large as the isolate's memory allows.

import type { BodyNumber } from "../../core/units.ts";
import { type NextPiece, type Piece, skipBytes, WHOLE } from "../../http/body-reader.ts";
import { type Bodies, CHUNK_BYTES } from "../store/bodies.ts";
import { bytePipe, type Patience } from "./byte-pipe.ts";
import type { BodyPosition } from "./event-offsets.ts";
import { fairPieceBytes, heldPiece } from "./read-memory.ts";

export interface StoredChunks {
  readonly body: BodyNumber;
  readonly count: number;
  readonly size: number;
}

/** The position of a reader that reads a body chunk by chunk, each in one or more pieces. */
export class ChunkCursor {
  readonly #bodies: Bodies;
  readonly #body: BodyNumber;
  /** The chunk that is being read, and how many of its bytes have been read. */
  number: number;
  at = 0;

  constructor(bodies: Bodies, body: BodyNumber, first: number) {
    this.#bodies = bodies;
    this.#body = body;
    this.number = first;
  }

  /** The next piece of the chunk; `null` when nothing was left of it. Moves to the next chunk at the end of this one. */
  read(): Piece | null {
    const most = fairPieceBytes();
    const bytes = this.#bodies.readPart(this.#body, this.number, this.at, most);
    // Thrown, so that a partial body never looks whole.
    if (bytes === null) throw new Error(`chunk ${this.number} is gone`);
    this.at += bytes.byteLength;
    if (bytes.byteLength < most || this.at >= CHUNK_BYTES) this.skip();
    return bytes.byteLength === 0 ? null : heldPiece(bytes);
  }

  /** Moves to the next chunk. */
  skip(): void {
    this.number += 1;
    this.at = 0;
  }
}

/** A body in chunks, beginning at a position. `close` is called once, when reading ends. */
export function storedStream(
  bodies: Bodies,
  { body, count, size }: StoredChunks,
  from: BodyPosition,
  close: () => void,
  patience: Patience | null,
): ReadableStream<Uint8Array> {
  const cursor = new ChunkCursor(bodies, body, from.chunk);
  const next = (): NextPiece => {
    while (cursor.number < count) {
      const piece = cursor.read();
      if (piece !== null) return piece;
    }
    return WHOLE;
  };
  const reader = { next: async () => next(), cancel: close };
  return bytePipe(skipBytes(reader, from.bytes - from.before), size - from.bytes, patience).readable;
}
