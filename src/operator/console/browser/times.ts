// Durations and times as people read them. The server renders durations and the browser keeps them up to date; only the browser knows the
// operator's local time.

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** At most two units, rounded down, so that nothing looks older than it is: `4 s`, `3 min 12 s`, `2 d 5 h`. */
export function elapsedText(ms: number): string {
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
export function relativeTime(kind: string | undefined, at: number, now: number): string {
  if (kind === "for") return elapsedText(now - at);
  if (kind === "due" && at <= now) return `due for ${elapsedText(now - at)}`;
  if (kind === "in" || kind === "due") return at > now ? `in ${elapsedText(at - now)}` : "now";
  return `${elapsedText(now - at)} ago`;
}

/** As `10:30:40 GMT+2`, with the date unless that is today; empty where local time is UTC. `aheadMinutes`: of UTC, at `at`. */
export function localTime(at: number, now: number, aheadMinutes: number, zone: string): string {
  if (aheadMinutes === 0) return "";
  const isoThere = (time: number): string => new Date(time + aheadMinutes * MINUTE_MS).toISOString();
  const [date = "", time = ""] = isoThere(at).split("T");
  return `${isoThere(now).startsWith(date) ? "" : `${date} `}${time.slice(0, 8)} ${zone}`;
}

/** `localTime` in the browser's own zone. */
export function localTimeHere(at: number, now: number): string {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at);
  const zone = parts.find(({ type }) => type === "timeZoneName")?.value ?? "local";
  return localTime(at, now, -new Date(at).getTimezoneOffset(), zone);
}
