// A stored body as a stream, in pieces as large as the isolate's memory allows.

import type { BodyNumber } from "../record/units.ts";
import { type NextPiece, type BytePiece, skipBytes, WHOLE } from "../request/body-reader.ts";
import { type BodyStore, CHUNK_BYTES } from "../store/bodies.ts";
import { type BodyCipher, placeInChunk, STORED_CHUNK_BYTES, wholeFrames } from "../encryption/body-cipher.ts";
import { bytePipe, type ReaderPatience } from "./byte-pipe.ts";
import type { BodyPosition } from "../resume/event-offsets.ts";
import { fairPieceBytes, heldPiece } from "./read-memory.ts";

export interface StoredChunks {
  readonly body: BodyNumber;
  readonly count: number;
  readonly size: number;
}

/** The position of a reader that reads a body chunk by chunk, each in one or more pieces. */
export class ChunkCursor {
  readonly #bodies: BodyStore;
  readonly #body: BodyNumber;
  readonly #cipher: BodyCipher | null;
  /** The chunk that is being read, and how many of its stored bytes have been read. */
  number: number;
  at = 0;
  /** The frame of an encrypted chunk that comes next. */
  #frame = 0;

  constructor(bodies: BodyStore, body: BodyNumber, first: number, cipher: BodyCipher | null) {
    this.#bodies = bodies;
    this.#body = body;
    this.#cipher = cipher;
    this.number = first;
  }

  /** The next piece of the chunk; `null` when nothing was left of it. Moves to the next chunk at the end of this one. */
  read(): BytePiece | null | Promise<BytePiece> {
    if (this.#cipher !== null) return this.#readEncrypted(this.#cipher);
    const bytes = this.#readPart(fairPieceBytes(), CHUNK_BYTES);
    return bytes.byteLength === 0 ? null : heldPiece(bytes);
  }

  #readEncrypted(cipher: BodyCipher): Promise<BytePiece> | null {
    const { number } = this;
    const { frames, bytes: most } = wholeFrames(fairPieceBytes());
    const first = placeInChunk(number, this.#frame);
    this.#frame += frames;
    const bytes = this.#readPart(most, STORED_CHUNK_BYTES);
    return bytes.byteLength === 0 ? null : cipher.decrypt(bytes, first).then(heldPiece);
  }

  #readPart(most: number, fullChunk: number): Uint8Array {
    const bytes = this.#bodies.readPart(this.#body, this.number, this.at, most);
    // Thrown, so that a partial body never looks whole.
    if (bytes === null) throw new Error(`chunk ${this.number} is gone`);
    this.at += bytes.byteLength;
    if (bytes.byteLength < most || this.at >= fullChunk) this.skip();
    return bytes;
  }

  /** Moves to the next chunk. */
  skip(): void {
    this.number += 1;
    this.at = 0;
    this.#frame = 0;
  }
}

/** How a stored body is read. */
export interface BodyReading {
  readonly from: BodyPosition;
  /** Called once, when reading ends. */
  readonly close: () => void;
  readonly patience: ReaderPatience | null;
  /** Of an encrypted body. */
  readonly cipher: BodyCipher | null;
}

/** A body in chunks, beginning at a position. */
export function storedStream(
  bodies: BodyStore,
  { body, count, size }: StoredChunks,
  { from, close, patience, cipher }: BodyReading,
): ReadableStream<Uint8Array> {
  const cursor = new ChunkCursor(bodies, body, from.chunk, cipher);
  const next = (): NextPiece | Promise<NextPiece> => {
    while (cursor.number < count) {
      const piece = cursor.read();
      if (piece !== null) return piece;
    }
    return WHOLE;
  };
  const reader = { next: async () => next(), cancel: close };
  return bytePipe(skipBytes(reader, from.bytes - from.before), size - from.bytes, patience).readable;
}
