// What a destination's resting lanes are called, in the console and on the command line. Imports nothing that needs the Worker.

import type { OutboxDestinationView } from "./operator/outbox-schema.ts";

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
