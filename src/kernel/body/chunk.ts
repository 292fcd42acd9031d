// The chunks of a body that are in memory: the one that is being filled, and the one that was written last. The first grows as it
// fills, so that a small body needs little memory. It never grows beyond its share of the memory for all bodies of the isolate.

import type { BytePiece } from "../request/body-reader.ts";
import { freeBytes } from "../request/byte-budget.ts";
import { CHUNK_BYTES } from "../store/bodies.ts";
import { holdBytes } from "./read-memory.ts";

/** What all filling chunks of an isolate share of its 128 MB: for each of them, two more chunks are being read. */
const SHARED_BYTES = 16 << 20;

/** The smallest limit of a chunk: a smaller row costs more than its bytes. */
const MIN_BYTES = 32 * 1024;

/** How many chunks are being filled, in all objects of the isolate. */
let filling = 0;

export class FillingChunk {
  #bytes = new Uint8Array();
  #limit: number;
  #isFreed = false;
  /** How many bytes it holds. */
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

  /** Returns its bytes and begins again empty. A full buffer is handed over without a copy. */
  take(): Uint8Array {
    const isGiven = this.size === this.#bytes.byteLength;
    const bytes = isGiven ? this.#bytes : this.#bytes.slice(0, this.size);
    if (isGiven) this.#bytes = new Uint8Array();
    this.size = 0;
    this.#limit = Math.max(fairShare(), this.#bytes.byteLength);
    return bytes;
  }

  /** Frees its memory. To be called at the end: it cannot be filled again. */
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
 * The chunk of a body that was written last, kept in memory for readers that are close behind. It is freed when the last of them
 * releases it. Once a newer chunk is the last one, it counts as memory that its readers hold.
 */
export class SharedChunk {
  readonly number: number;
  readonly bytes: Uint8Array;
  #free: () => void;
  /** Its creator counts as one user until `retire`. */
  #users = 1;

  constructor(number: number, bytes: Uint8Array) {
    this.number = number;
    this.bytes = bytes;
    this.#free = () => freeBytes(bytes);
  }

  use(): BytePiece {
    this.#users += 1;
    return { kind: "bytes", bytes: this.bytes, release: () => this.#release() };
  }

  /** To be called when a newer chunk is the last one, or when no more readers will come. */
  retire(): void {
    if (this.#users > 1) this.#free = holdBytes(this.bytes);
    this.#release();
  }

  #release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#free();
  }
}
