// The quantiles of what a bench has measured. Without values all of them are NaN.

/** Gives the value below which a share of all values is. */
export type Quantile = (share: number) => number;

export function quantileOf(values: readonly number[]): Quantile {
  const sorted = values.toSorted((one, other) => one - other);
  return (share) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

/** Of two values in the middle, the larger. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

/** The median, the 99th percentile and the largest, as a cell of a table. */
export function tailCell(values: readonly number[]): string {
  const at = quantileOf(values);
  return [at(0.5), at(0.99), at(1)].map((value) => value.toFixed(1)).join(" / ");
}
