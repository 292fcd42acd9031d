// The chunks of a body that are in memory: the one that fills with what comes, and the last one that was written. The first
// grows as it fills, so that a small body needs little memory, but not beyond its share of what all bodies of the isolate may
// take together.

import type { Piece } from "../../http/body-reader.ts";
import { freeBytes } from "../../http/byte-budget.ts";
import { CHUNK_BYTES } from "../store/bodies.ts";
import { holdBytes } from "./read-memory.ts";

/** What the filling chunks of an isolate share of its 128 MB: for each one that fills, two more are being read. */
const SHARED_BYTES = 16 << 20;

/** A smaller row costs more than its bytes. */
const MIN_BYTES = 32 * 1024;

/** How many chunks fill right now, in all objects of the isolate. */
let filling = 0;

export class FillingChunk {
  #bytes = new Uint8Array();
  #limit: number;
  #isFreed = false;
  /** How many bytes it has. */
  size = 0;

  constructor() {
    filling += 1;
    this.#limit = fairShare();
  }

  /** Whether there is no room for more until `take` is called. */
  get isFull(): boolean {
    return this.size === this.#limit;
  }

  /** Copies as many of the bytes as fit, and returns how many. */
  fill(bytes: Uint8Array): number {
    const piece = bytes.subarray(0, this.#limit - this.size);
    this.#grow(this.size + piece.byteLength);
    this.#bytes.set(piece, this.size);
    this.size += piece.byteLength;
    return piece.byteLength;
  }

  /** Gives its bytes away and begins anew. A buffer that is full is given away without a copy. */
  take(): Uint8Array {
    const isGiven = this.size === this.#bytes.byteLength;
    const bytes = isGiven ? this.#bytes : this.#bytes.slice(0, this.size);
    if (isGiven) this.#bytes = new Uint8Array();
    this.size = 0;
    this.#limit = Math.max(fairShare(), this.#bytes.byteLength);
    return bytes;
  }

  /** Frees its memory. To be called when nothing more comes: it cannot be filled again. */
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
  return Math.min(CHUNK_BYTES, Math.max(MIN_BYTES, Math.floor(SHARED_BYTES / filling)));
}

/**
 * The chunk of a body that was written last, in memory for readers that are close behind. It is freed when the last of them
 * has released it. As soon as another chunk is the last one, it counts as memory that its readers hold.
 */
export class SharedChunk {
  readonly number: number;
  readonly bytes: Uint8Array;
  #free: () => void;
  /** Its maker counts as one, until `retire`. */
  #users = 1;

  constructor(number: number, bytes: Uint8Array) {
    this.number = number;
    this.bytes = bytes;
    this.#free = () => freeBytes(bytes);
  }

  use(): Piece {
    this.#users += 1;
    return { kind: "bytes", bytes: this.bytes, release: () => this.#release() };
  }

  /** Another chunk is the last one now, or no reader will come for this one. */
  retire(): void {
    if (this.#users > 1) this.#free = holdBytes(this.bytes);
    this.#release();
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#free();
  }
}
