// Times as people read them: against now, and absolute. The script counts on what carries `data-at`.

import { relative } from "./browser/duration.ts";

interface TimeProps {
  readonly at: number;
  readonly now: number;
  /** `for`: since then. `in`: until then. */
  readonly rel?: "ago" | "for" | "in";
}

export function Time({ at, now, rel = "ago" }: TimeProps) {
  return (
    <time datetime={new Date(at).toISOString()}>
      <span data-at={at} data-rel={rel}>
        {relative(rel, at, now)}
      </span>{" "}
      <span class="abs">{absolute(at, now)}</span>
    </time>
  );
}

/** UTC, as the API and the logs tell it; the date only where it is not today's. */
export function absolute(at: number, now: number): string {
  const [date = "", time = ""] = new Date(at).toISOString().split("T");
  const isToday = new Date(now).toISOString().startsWith(date);
  return `${isToday ? "" : `${date} `}${time.slice(0, 8)} UTC`;
}
