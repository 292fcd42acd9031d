// How slowly a body may come: 16 KiB, or its end, in each `idle_timeout`. A sender that stands still is given up, and so is one that sends
// a byte now and then: both hold a connection, memory or disk that others need. Only the time in which the reader waits counts.

/** A body that has brought so many bytes is not idle. */
const STEP_BYTES = 16 * 1024;

export class Pace {
  readonly #idleMs: number;
  readonly #stepBytes: number;
  #leftMs: number;
  /** How many bytes have come since the last step. */
  #bytes = 0;

  /** `stepBytes`: how many bytes are enough; 1 if any are. */
  constructor(idleMs: number, stepBytes = STEP_BYTES) {
    this.#idleMs = idleMs;
    this.#stepBytes = stepBytes;
    this.#leftMs = idleMs;
  }

  /** How long the next bytes may take. */
  get leftMs(): number {
    return this.#leftMs;
  }

  /** So many bytes have come after the reader had waited for so long. */
  came(bytes: number, waitedMs: number): void {
    this.#bytes += bytes;
    this.#leftMs = Math.max(0, this.#leftMs - waitedMs);
    if (this.#bytes < this.#stepBytes) return;
    this.#bytes = 0;
    this.#leftMs = this.#idleMs;
  }
}
