// How long to wait before the next try. Pure: time and chance are passed in.

export interface Backoff {
  /** Upper bound of the first pause. */
  readonly firstPauseMs: number;
  /** Upper bound of every pause that nobody asked for. */
  readonly maxPauseMs: number;
}

/**
 * Milliseconds. `tries` were made so far; `random` is in [0, 1). Full jitter: between nothing and a bound that doubles.
 * What `Retry-After` asks for comes first, and a first pause's jitter on top, so that those who were told the same time
 * do not come together.
 */
export function pauseMs(backoff: Backoff, tries: number, retryAfterMs: number | null, random: number): number {
  if (retryAfterMs !== null) return retryAfterMs + random * backoff.firstPauseMs;
  return random * Math.min(backoff.maxPauseMs, backoff.firstPauseMs * 2 ** (tries - 1));
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, as milliseconds from now; `null`: it says nothing. */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  // A date has letters; without this, engines take other numbers, such as -1 or 1.5, for dates.
  const atMs = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
