// Times and durations as people read them. Pure: now is passed in.

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** The largest whole unit: 90 minutes are "1h". Below a second, milliseconds. */
export function roughDuration(ms: number): string {
  for (const [unit, unitMs] of UNITS) if (ms >= unitMs) return `${Math.floor(ms / unitMs)}${unit}`;
  return `${Math.max(0, Math.round(ms))}ms`;
}

/** "5m ago", "in 23h". Clocks differ, so a past time may read "in 0ms". */
export function fromNow(iso: string, now: number): string {
  const ms = Date.parse(iso) - now;
  return ms < 0 ? `${roughDuration(-ms)} ago` : `in ${roughDuration(ms)}`;
}

/** In UTC, to the millisecond: 2026-11-21 08:30:00.123Z. */
export function readableTime(iso: string): string {
  return new Date(iso).toISOString().replace("T", " ");
}
