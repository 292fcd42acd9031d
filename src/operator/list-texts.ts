// What lists say of themselves in words, in the console and on the command line. Imports nothing that needs the Worker.

import type { OutboxDestinationView } from "./outbox-schema.ts";
import type { RecordPageView } from "./record-schema.ts";

type Total = RecordPageView["total"];
type Parts = RecordPageView["parts"];

/** "1 record", "1,234 records", "about 12,400 records". */
export function totalText(total: Total): string {
  return `${countText(total)} ${total.count === 1 ? "record" : "records"}`;
}

/** An estimate is not more exact than it looks. */
function countText({ count, isExact }: Total): string {
  return isExact ? grouped(count) : `about ${grouped(Number(count.toPrecision(3)))}`;
}

/** What the order of a list means that is read in parts; `null` for one that is not. */
export function partsText({ first, last, count }: Parts): string | null {
  if (count === 1) return null;
  const which = first === last ? `Part ${grouped(first)}` : `Parts ${grouped(first)} to ${grouped(last)}`;
  return `${which} of ${grouped(count)}: so many records are listed in parts, each with its newest first.`;
}

/** The lanes of a destination that rest, over all shards. */
export interface RestText {
  /** Such as "3 of 17 lanes". */
  readonly lanes: string;
  /** When the last of them is tried again. */
  readonly until: string;
  /** Why their last events were not taken. */
  readonly why: string;
}

/** `null`: nothing rests. */
export function restText(resting: OutboxDestinationView["resting"]): RestText | null {
  const until = resting
    .map((rest) => rest.until)
    .toSorted()
    .at(-1);
  if (until === undefined) return null;
  const sum = (of: "lanes" | "of"): number => resting.reduce((total, rest) => total + rest[of], 0);
  const which = sum("lanes") === sum("of") ? "all lanes" : `${sum("lanes")} of ${sum("of")} lanes`;
  const where = resting.length === 1 ? "" : ` in ${resting.length} shards`;
  return { lanes: which + where, until, why: [...new Set(resting.map(({ reason }) => reason))].join(", ") };
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
