// Times relative to now, in UTC, and in the operator's own zone, which only the browser knows. The script keeps elements with `data-at` up
// to date; without it there is UTC alone.

import { relativeTime } from "./browser/times.ts";

interface TimeProps {
  readonly at: number;
  readonly now: number;
  /** `for`: since then. `in`: until then. `due`: until then, and after that since then. */
  readonly rel?: "ago" | "for" | "in" | "due";
}

export function TimeText({ at, now, rel = "ago" }: TimeProps) {
  return (
    <time datetime={new Date(at).toISOString()}>
      <span data-at={at} data-rel={rel}>
        {relativeTime(rel, at, now)}
      </span>{" "}
      <span class="abs">{absoluteTime(at, now)}</span>
      <span class="abs" data-at={at} data-rel="local" />
    </time>
  );
}

/** UTC as in the API and the logs; with the date unless it is today. */
export function absoluteTime(at: number, now: number): string {
  const [date = "", time = ""] = new Date(at).toISOString().split("T");
  const isToday = new Date(now).toISOString().startsWith(date);
  return `${isToday ? "" : `${date} `}${time.slice(0, 8)} UTC`;
}
