// A body that lies in rows, as a stream: in pieces that are as large as the memory of the isolate allows.

import { type Bodies, CHUNK_BYTES } from "../store/bodies.ts";
import type { BodyPosition } from "./body-position.ts";
import { bytePipe, type Patience, type Piece, Skip } from "./byte-pipe.ts";
import { fairPieceBytes, heldPiece } from "./read-memory.ts";

export interface StoredChunks {
  readonly name: string;
  readonly count: number;
  readonly size: number;
}

/** Gives at most `most` bytes of a chunk, from a byte on; `null` when it is gone. */
type ReadChunk = (number: number, from: number, most: number) => Uint8Array | null;

/** Where someone is who reads chunk by chunk, each in one piece or in several. */
export class ChunkCursor {
  readonly #read: ReadChunk;
  /** The most that a chunk has. */
  readonly #chunkBytes: number;
  /** The chunk that is read, and how much of it has been. */
  number: number;
  at = 0;

  constructor(read: ReadChunk, chunkBytes: number, first: number) {
    this.#read = read;
    this.#chunkBytes = chunkBytes;
    this.number = first;
  }

  /** The next piece; `null` when there was nothing more of that chunk. */
  next(): Piece | null {
    const most = fairPieceBytes();
    const bytes = this.#read(this.number, this.at, most);
    // So half a body never looks whole.
    if (bytes === null) throw new Error(`chunk ${this.number} is gone`);
    this.at += bytes.byteLength;
    if (bytes.byteLength < most || this.at >= this.#chunkBytes) this.skip();
    return bytes.byteLength === 0 ? null : heldPiece(bytes);
  }

  /** Goes on to the next chunk. */
  skip(): void {
    this.number += 1;
    this.at = 0;
  }
}

/** A body in chunks, from a position on. */
export function storedStream(
  bodies: Bodies,
  { name, count, size }: StoredChunks,
  from: BodyPosition,
  close: () => void,
  patience: Patience | null,
): ReadableStream<Uint8Array> {
  const read: ReadChunk = (number, at, most) => bodies.readPart(name, number, at, most);
  const cursor = new ChunkCursor(read, CHUNK_BYTES, from.chunk);
  const skip = new Skip(from.bytes - from.before);
  const next = (): Piece | null => {
    while (cursor.number < count) {
      const part = cursor.next();
      const piece = part === null ? null : skip.past(part);
      if (piece !== null) return piece;
    }
    return null;
  };
  return bytePipe({ next, close }, size - from.bytes, patience).readable;
}

/** A body in its record's row, from a byte on. `read` gives a part of it. */
export function rowStream(
  read: (from: number, most: number) => Uint8Array | null,
  size: number,
  skipBytes: number,
  close: () => void,
  patience: Patience | null,
): ReadableStream<Uint8Array> {
  let at = skipBytes;
  const next = (): Piece | null => {
    if (at === size) return null;
    const bytes = read(at, fairPieceBytes());
    if (bytes === null || bytes.byteLength === 0) throw new Error("the body is gone");
    at += bytes.byteLength;
    return heldPiece(bytes);
  };
  return bytePipe({ next, close }, size - skipBytes, patience).readable;
}
