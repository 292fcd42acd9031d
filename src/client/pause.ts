// How long to wait before the next try. Pure: the time and the random number are passed in.

export interface Backoff {
  /** Upper bound of the first pause. */
  readonly firstPauseMs: number;
  /** Upper bound of every pause, except one that `Retry-After` asks for. */
  readonly maxPauseMs: number;
}

/**
 * Milliseconds to wait after `tries` tries; `random` is in [0, 1). Full jitter: a random part of a bound that doubles. If the
 * answer had `Retry-After`, that time plus the jitter of a first pause, so that clients told the same time do not return at once.
 */
export function pauseMs(backoff: Backoff, tries: number, retryAfterMs: number | null, random: number): number {
  if (retryAfterMs !== null) return retryAfterMs + random * backoff.firstPauseMs;
  return random * Math.min(backoff.maxPauseMs, backoff.firstPauseMs * 2 ** (tries - 1));
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3), seconds or a date, as milliseconds from now; `null` if it is neither. */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  // A date has letters. Without this check, engines parse other numbers, such as -1 or 1.5, as dates.
  const atMs = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
