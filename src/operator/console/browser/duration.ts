// Durations as people read them. The server renders them and the browser keeps them up to date.

const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** At most two units, rounded down, so that nothing looks older than it is: `4 s`, `3 min 12 s`, `2 d 5 h`. */
export function formatDuration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / SECOND_MS))} s`;
  if (ms < HOUR_MS) return two(ms, MINUTE_MS, "min", SECOND_MS, "s");
  // A retention of a day reads as 24 h.
  if (ms < 2 * DAY_MS) return two(ms, HOUR_MS, "h", MINUTE_MS, "min");
  return two(ms, DAY_MS, "d", HOUR_MS, "h");
}

function two(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % largeMs) / smallMs);
  return `${Math.floor(ms / largeMs)} ${large}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}

/** `at` relative to `now`. `kind`: `for` is the time since then, `in` the time until then, `due` what is left or has passed, anything else how long ago. */
export function relative(kind: string | undefined, at: number, now: number): string {
  if (kind === "for") return formatDuration(now - at);
  if (kind === "due" && at <= now) return `due for ${formatDuration(now - at)}`;
  if (kind === "in" || kind === "due") return at > now ? `in ${formatDuration(at - now)}` : "now";
  return `${formatDuration(now - at)} ago`;
}
