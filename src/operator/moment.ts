// Reads a moment in the past, as the filters of lists name it: a time (RFC 3339), or how long ago it was. Imports nothing that needs
// the Worker, because the command line uses this file too.

import { parseDuration } from "../config/units.ts";
import { type EpochMs, epochMs } from "../core/units.ts";

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** "2026-11-23T08:30:00Z", or "5m" for five minutes before `now`; `null` if it is neither. */
export function parseMoment(text: string, now: EpochMs): EpochMs | null {
  const ago = parseDuration(text);
  if (ago.ok) return epochMs(now - ago.value);
  const [, year, month, day] = TIME.exec(text) ?? [];
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  // `Date` takes the 30th of February for the 1st of March.
  if (Number.isNaN(midnight) || new Date(midnight).getUTCDate() !== Number(day)) return null;
  return epochMs(Date.parse(text));
}
