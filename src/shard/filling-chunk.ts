// The chunk of a body that fills with what comes. It begins small and grows, so that a small body needs little memory.

import { CHUNK_BYTES } from "./bodies.ts";

const FIRST_BYTES = 4096;

export class FillingChunk {
  #bytes = new Uint8Array(FIRST_BYTES);
  /** How many bytes have come together. */
  size = 0;

  /** Takes as many of the bytes as fit, and tells how many. They are copied: the caller may use them again. */
  fill(bytes: Uint8Array): number {
    const piece = bytes.subarray(0, CHUNK_BYTES - this.size);
    this.#grow(this.size + piece.byteLength);
    this.#bytes.set(piece, this.size);
    this.size += piece.byteLength;
    return piece.byteLength;
  }

  /** Gives what has come together, and begins anew. A buffer that is full is given away as it is. */
  take(): Uint8Array {
    const isFull = this.size === this.#bytes.byteLength;
    const bytes = isFull ? this.#bytes : this.#bytes.slice(0, this.size);
    if (isFull) this.#bytes = new Uint8Array(FIRST_BYTES);
    this.size = 0;
    return bytes;
  }

  #grow(size: number): void {
    if (size <= this.#bytes.byteLength) return;
    const grown = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(size, 4 * this.#bytes.byteLength)));
    grown.set(this.#bytes.subarray(0, this.size));
    this.#bytes = grown;
  }
}
