// `Retry-After`, as seconds or a date (RFC 9110, section 10.2.3).

/** How long to wait from `now` on; `null` if the value is neither. */
export function retryAfterIn(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - now;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
