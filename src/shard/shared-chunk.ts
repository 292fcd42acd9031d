// The last chunk of a body that was written, in memory for those who read close behind. Its memory is freed when the last of them
// is done with it; from when another chunk is the last, it counts as what those hold who have not taken it yet.

import { freeBytes } from "../http/byte-budget.ts";
import type { Piece } from "./byte-pipe.ts";
import { holdBytes } from "./read-memory.ts";

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
