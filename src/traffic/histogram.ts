// How long things took, in fixed buckets: to count one is a short search and two additions.

/** Upper bounds in milliseconds; what takes longer counts in one more. */
export const BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000] as const;

export interface HistogramCounts {
  /** One for each bound, and one beyond; each counts what is in no bucket before it. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export class Histogram {
  readonly #counts = new Float64Array(BOUNDS_MS.length + 1);
  #sumMs = 0;

  observe(ms: number): void {
    let at = 0;
    for (const bound of BOUNDS_MS) {
      if (ms <= bound) break;
      at += 1;
    }
    increase(this.#counts, at);
    this.#sumMs += ms;
  }

  get counts(): HistogramCounts {
    return { counts: [...this.#counts], sumMs: this.#sumMs };
  }

  add({ counts, sumMs }: HistogramCounts): void {
    counts.forEach((count, at) => increase(this.#counts, at, count));
    this.#sumMs += sumMs;
  }
}

/** `at` is an index of `counts`; elsewhere nothing is counted. */
export function increase(counts: Float64Array | Uint32Array, at: number, by = 1): void {
  counts[at] = (counts[at] ?? 0) + by;
}
