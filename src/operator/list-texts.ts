// What lists say of themselves in words, in the console and on the command line, and the times that their filters take. Imports nothing that
// needs the Worker.

import { parseDuration } from "../kernel/config/units.ts";
import { type EpochMs, epochMs } from "../kernel/record/units.ts";
import { elapsedText } from "./console/browser/times.ts";
import type { RecordPageView } from "./record-schema.ts";
import type { NotAskedView } from "./schema-members.ts";

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

/** Which shards an answer has not asked; `null`: none. */
export function notAskedText({ earlier, missing, oldestAnswerAt }: NotAskedView, now: number): string | null {
  const ageMs = oldestAnswerAt === null ? 0 : now - Date.parse(oldestAnswerAt);
  const parts = [
    ...(earlier === 0
      ? []
      : [`${grouped(earlier)} shards were not asked now: their numbers are up to ${elapsedText(ageMs)} old.`]),
    ...(missing === 0 ? [] : [`${grouped(missing)} shards have not been asked yet and are not counted: ask again.`]),
  ];
  return parts.length === 0 ? null : parts.join(" ");
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** RFC 3339. */
const TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** A moment in the past: "2026-11-23T08:30:00Z", or "5m" for five minutes before `now`; `null` if it is neither. */
export function parseMoment(text: string, now: EpochMs): EpochMs | null {
  const ago = parseDuration(text);
  if (ago.ok) return epochMs(now - ago.value);
  const [, year, month, day] = TIME.exec(text) ?? [];
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  // `Date` takes the 30th of February for the 1st of March.
  if (Number.isNaN(midnight) || new Date(midnight).getUTCDate() !== Number(day)) return null;
  return epochMs(Date.parse(text));
}
