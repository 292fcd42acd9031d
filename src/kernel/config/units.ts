// Reads and writes the two kinds of quantity in a configuration: durations ("30s") and sizes ("10MB"). Decides what a
// text means, and what to write instead of an invalid one; knows no setting, no bound and no default.

/** The value of a text, or what is wrong with it and what to write instead. */
export type ParsedSetting<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly message: string;
      /** The value that was meant; null if another one could be. */
      readonly meant: string | null;
    };

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Decimal, as file sizes and the platform's limits are given. */
export const MEGABYTE = 1_000_000;

const DURATION_UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", SECOND_MS],
  ["m", MINUTE_MS],
  ["h", HOUR_MS],
  ["d", DAY_MS],
]);

const SIZE_UNITS: ReadonlyMap<string, number> = new Map([
  ["B", 1],
  ["kB", 1_000],
  ["MB", MEGABYTE],
  ["GB", 1_000 * MEGABYTE],
  ["KiB", 1_024],
  ["MiB", 1_024 ** 2],
  ["GiB", 1_024 ** 3],
]);

/** Sources of regular expressions; the JSON Schema for editors shows them too. */
export const DURATION_PATTERN = "^[0-9]+(?:\\.[0-9]+)?(?:ms|s|m|h|d)$";
export const SIZE_PATTERN = "^[0-9]+(?:\\.[0-9]+)?(?:B|kB|MB|GB|KiB|MiB|GiB)$";

const QUANTITY = /^([0-9]+(?:\.[0-9]+)?)([A-Za-z]+)$/;

/** Milliseconds of a text such as "500ms", "30s", "1.5h" or "7d"; rounded to whole milliseconds. */
export function parseDuration(value: unknown): ParsedSetting<number> {
  if (typeof value === "number") {
    return refuseValue(`a bare number has no unit: write "${value}s" for seconds or "${value}ms" for milliseconds`);
  }
  const amount = quantity(value, DURATION_UNITS);
  if (amount === null) {
    const meant = meantDuration(value);
    const units = "must be a number with a unit (ms, s, m, h, d)";
    return meant === null
      ? refuseValue(`${units}: write "30s", "5m" or "24h"`)
      : refuseValue(`${units}: write "${meant}"`, meant);
  }
  const durationMs = Math.round(amount);
  if (durationMs < 1) return refuseValue('must be longer than zero: write "1ms" or more');
  return { ok: true, value: durationMs };
}

/** Bytes of a whole number, or of a text such as "10MB" (decimal) or "1MiB" (binary). */
export function parseSize(value: unknown): ParsedSetting<number> {
  const amount = typeof value === "number" ? value : quantity(value, SIZE_UNITS);
  if (amount === null) {
    const meant = meantSize(value);
    const units = "must be whole bytes or a number with a unit (B, kB, MB, GB, KiB, MiB, GiB)";
    return meant === null
      ? refuseValue(`${units}: write 1000000 or "10MB"`)
      : refuseValue(`${units}: write "${meant}"`, meant);
  }
  if (!Number.isSafeInteger(amount) || amount < 1) {
    return refuseValue('must be a whole number of bytes, 1 or more: write 1000000 or "10MB"');
  }
  return { ok: true, value: amount };
}

/** The shortest exact text: 90000 is "90s", 120000 is "2m", a day is "24h". Reads back as the same duration. */
export function formatDuration(durationMs: number): string {
  for (const [unit, unitMs] of [...DURATION_UNITS].toReversed()) {
    // "60s" and "24h" are what people write, not "1m" and "1d".
    const least = unit === "m" || unit === "d" ? 2 : 1;
    if (durationMs % unitMs === 0 && durationMs / unitMs >= least) return `${durationMs / unitMs}${unit}`;
  }
  return `${durationMs}ms`;
}

/** The shortest exact text, in the units that `parseSize` reads. */
export function formatSize(bytes: number): string {
  for (const unit of ["GB", "MB", "GiB", "MiB", "kB", "KiB"]) {
    const unitBytes = SIZE_UNITS.get(unit) ?? 1;
    if (bytes % unitBytes === 0 && bytes >= unitBytes) return `${bytes / unitBytes}${unit}`;
  }
  return `${bytes}B`;
}

/** Units as people write them: "10 minutes", "30sec", "1H". */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/i, "ms"],
  [/^(?:s|secs?|seconds?)$/i, "s"],
  [/^(?:m|mins?|minutes?)$/i, "m"],
  [/^(?:h|hrs?|hours?)$/i, "h"],
  [/^(?:d|days?)$/i, "d"],
];

/** The duration that a text probably means; null if it means none. */
function meantDuration(value: unknown): string | null {
  const [, amount = "", written = ""] =
    typeof value === "string" ? (/^(\d+(?:\.\d+)?) *([a-z]+)$/i.exec(value.trim()) ?? []) : [];
  const unit = SPELLINGS.find(([spelling]) => spelling.test(written))?.[1];
  return unit === undefined ? null : amount + unit;
}

/** The size that a text means but for a space or the case of its unit. */
function meantSize(value: unknown): string | null {
  const [, amount = "", written = ""] =
    typeof value === "string" ? (/^(\d+(?:\.\d+)?) *([a-z]+)$/i.exec(value.trim()) ?? []) : [];
  const unit = [...SIZE_UNITS.keys()].find((one) => one.toLowerCase() === written.toLowerCase());
  return unit === undefined ? null : amount + unit;
}

function quantity(value: unknown, units: ReadonlyMap<string, number>): number | null {
  const match = typeof value === "string" ? QUANTITY.exec(value) : null;
  const unit = units.get(match?.[2] ?? "");
  // Decimal fractions of a unit are exact to the thousandth of the smallest unit; binary rounding must not show.
  return match === null || unit === undefined ? null : Number((Number(match[1]) * unit).toFixed(3));
}

/** A value that is not accepted; `message` says what to write instead. */
export function refuseValue(message: string, meant: string | null = null): ParsedSetting<never> {
  return { ok: false, message, meant };
}
