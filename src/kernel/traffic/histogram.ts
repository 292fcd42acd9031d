// A histogram of durations with fixed bins: each observation costs a short search and two additions.

/** Upper bounds of the bins in milliseconds; longer durations count in one more bin. */
export const BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000] as const;

export interface HistogramCounts {
  /** One count for each bin, and one for longer durations; each excludes the bins before it. */
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export class Histogram {
  readonly #counts = new Float64Array(BOUNDS_MS.length + 1);
  #sumMs = 0;

  observe(ms: number): void {
    let bin = 0;
    for (const bound of BOUNDS_MS) {
      if (ms <= bound) break;
      bin += 1;
    }
    increase(this.#counts, bin);
    this.#sumMs += ms;
  }

  get counts(): HistogramCounts {
    return { counts: [...this.#counts], sumMs: this.#sumMs };
  }

  add({ counts, sumMs }: HistogramCounts): void {
    counts.forEach((count, bin) => increase(this.#counts, bin, count));
    this.#sumMs += sumMs;
  }
}

/** The upper bound of the bin in which the quantile lies; the last bound also for longer durations. `null` without any. */
export function quantileMs({ counts }: HistogramCounts, quantile: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let below = 0;
  for (const [bin, count] of counts.entries()) {
    below += count;
    if (below >= quantile * all) return BOUNDS_MS[bin] ?? LONGEST_MS;
  }
  return LONGEST_MS;
}

const LONGEST_MS = BOUNDS_MS[BOUNDS_MS.length - 1] ?? 0;

/** Whether these counts have today's bins: another version may have stored others. */
export function isOfTheseBounds({ counts }: HistogramCounts): boolean {
  return counts.length === BOUNDS_MS.length + 1;
}

/** Of each bin the larger count. */
export function largerTimes(one: HistogramCounts, other: HistogramCounts): HistogramCounts {
  if (one.counts.length !== other.counts.length) return isOfTheseBounds(one) ? one : other;
  const counts = one.counts.map((count, bin) => Math.max(count, other.counts[bin] ?? 0));
  return { counts, sumMs: Math.max(one.sumMs, other.sumMs) };
}

/** `at` is an index of `counts`. */
function increase(counts: Float64Array, at: number, by = 1): void {
  counts[at] = (counts[at] ?? 0) + by;
}
