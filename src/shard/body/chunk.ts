// The chunk of a body that fills with what comes. It grows with it, so that a small body needs little memory, and
// it grows no further than its share of what all bodies of the isolate may take together.

import { freeBytes } from "../../http/byte-budget.ts";
import { CHUNK_BYTES } from "../store/bodies.ts";
import type { Piece } from "./byte-pipe.ts";
import { holdBytes } from "./read-memory.ts";

/** What the filling chunks of an isolate share; of its 128 MB, since for each one that fills, two more are being read. */
const SHARED_BYTES = 16 << 20;

/** Below this a row costs more than its bytes. */
const LEAST_BYTES = 32 * 1024;

/** The chunks that fill right now, in all objects of the isolate. */
let filling = 0;

export class FillingChunk {
  #bytes = new Uint8Array();
  #limit: number;
  #isFreed = false;
  /** How many bytes have come together. */
  size = 0;

  constructor() {
    filling += 1;
    this.#limit = fairShare();
  }

  /** Whether it takes no more before it is taken. */
  get isFull(): boolean {
    return this.size === this.#limit;
  }

  /** Takes as many of the bytes as fit, and tells how many. They are copied: the caller may use them again. */
  fill(bytes: Uint8Array): number {
    const piece = bytes.subarray(0, this.#limit - this.size);
    this.#grow(this.size + piece.byteLength);
    this.#bytes.set(piece, this.size);
    this.size += piece.byteLength;
    return piece.byteLength;
  }

  /** Gives what has come together, and begins anew. A buffer that is full is given away as it is. */
  take(): Uint8Array {
    const isGiven = this.size === this.#bytes.byteLength;
    const bytes = isGiven ? this.#bytes : this.#bytes.slice(0, this.size);
    if (isGiven) this.#bytes = new Uint8Array();
    this.size = 0;
    this.#limit = Math.max(fairShare(), this.#bytes.byteLength);
    return bytes;
  }

  /** Gives its memory back. To be called when nothing more comes; nothing can be filled in after it. */
  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    filling -= 1;
    freeBytes(this.#bytes);
  }

  #grow(size: number): void {
    if (size <= this.#bytes.byteLength) return;
    const grown = new Uint8Array(Math.min(this.#limit, Math.max(size, 4 * this.#bytes.byteLength)));
    grown.set(this.#bytes.subarray(0, this.size));
    freeBytes(this.#bytes);
    this.#bytes = grown;
  }
}

function fairShare(): number {
  return Math.min(CHUNK_BYTES, Math.max(LEAST_BYTES, Math.floor(SHARED_BYTES / filling)));
}

/**
 * The last chunk of a body that was written, in memory for those who read close behind. Its memory is freed when the
 * last of them is done with it; from when another chunk is the last, it counts as what those hold who have not taken
 * it yet.
 */
export class SharedChunk {
  readonly number: number;
  readonly bytes: Uint8Array;
  #free: () => void;
  /** Whoever made it counts as one. */
  #users = 1;

  constructor(number: number, bytes: Uint8Array) {
    this.number = number;
    this.bytes = bytes;
    this.#free = () => freeBytes(bytes);
  }

  use(): Piece {
    this.#users += 1;
    return { bytes: this.bytes, release: () => this.#release() };
  }

  /** It is not the last any more, or nobody will come for it. */
  retire(): void {
    if (this.#users > 1) this.#free = holdBytes(this.bytes);
    this.#release();
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#free();
  }
}
