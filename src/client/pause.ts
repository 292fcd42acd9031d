// The pause before the next try. Time and chance are passed in.

import type { TryResponse } from "./send.ts";
import type { Backoff, Clock } from "./client-settings.ts";

/**
 * Milliseconds to wait after `tries` tries; `random` is in [0, 1). Full jitter: a random part of a bound that doubles. If the
 * answer had `Retry-After`, that time (`askedMs`) plus the jitter of a first pause, so that clients that were given the same time do not return at once.
 */
export function retryPauseMs(backoff: Backoff, tries: number, askedMs: number | null, random: number): number {
  if (askedMs !== null) return askedMs + random * backoff.firstPauseMs;
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

/** How long the answer asks to wait; `null` if it does not say. */
export function retryAfterMs(sent: TryResponse, nowMs: number): number | null {
  return sent.kind === "answer" ? parseRetryAfter(sent.response.headers.get("Retry-After"), nowMs) : null;
}

/** Rejects with the signal's reason as soon as the caller aborts. */
export function pauseFor(ms: number, signal: AbortSignal, { after }: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = after(ms, () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    signal.addEventListener("abort", abort, { once: true });
  });
}
