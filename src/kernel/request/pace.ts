// How slowly a body may come: 16 KiB, or its end, in each `idle_timeout`. A sender that stands still is given up, and so is one that sends
// a byte now and then: both hold a connection, memory or disk that others need. Only the time in which the reader waits counts.

import type { BodyReader, NextPiece } from "./body-reader.ts";

/** A body that has brought so many bytes is not idle. */
const STEP_BYTES = 16 * 1024;

export class ReadingPace {
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

/** Waits for a promise no longer than some time; `null` if it took longer. */
interface Waiting {
  firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null>;
}

/** The body came too slowly. */
export class LateBody extends Error {}

/** Waits no longer for a piece than `pace` allows: then it stops the source, and rejects with `LateBody`. */
export function pacedBody(body: BodyReader, timers: Waiting, pace: ReadingPace): BodyReader {
  const next = async (): Promise<NextPiece> => {
    const begun = performance.now();
    const reading = body.next();
    const piece = await timers.firstOf(reading, pace.leftMs);
    if (piece === null) {
      reading.catch(() => undefined);
      body.cancel();
      throw new LateBody("the body came too slowly");
    }
    if (piece.kind === "bytes") pace.came(piece.bytes.byteLength, performance.now() - begun);
    return piece;
  };
  return { next, cancel: () => body.cancel() };
}
