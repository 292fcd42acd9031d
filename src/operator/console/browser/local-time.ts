// The operator's local time, beside the UTC that the server renders.

import { MINUTE_MS } from "./duration.ts";

/** As `10:30:40 GMT+2`, with the date unless that is today; empty where local time is UTC. `aheadMinutes`: of UTC, at `at`. */
export function localTime(at: number, now: number, aheadMinutes: number, zone: string): string {
  if (aheadMinutes === 0) return "";
  const isoThere = (time: number): string => new Date(time + aheadMinutes * MINUTE_MS).toISOString();
  const [date = "", time = ""] = isoThere(at).split("T");
  return `${isoThere(now).startsWith(date) ? "" : `${date} `}${time.slice(0, 8)} ${zone}`;
}

const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

/** `localTime` in the browser's own zone. */
export function localTimeHere(at: number, now: number): string {
  const zone = ZONE.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "local";
  return localTime(at, now, -new Date(at).getTimezoneOffset(), zone);
}
