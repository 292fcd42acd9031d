// Every table of an object, and what its rows mean for a layout that is left: what an object still holds would be lost to operators and
// clients without the layout. A test fails for a table that is not listed here.

import { HELD, type HeldKind, type HeldRows, MAX_HELD } from "../record/held-rows.ts";
import type { LedgerSql } from "./schema.ts";

/** `where`: only these rows. `why`: a layout may go in spite of them. */
type TableUse = { readonly holds: HeldKind; readonly where?: string } | { readonly why: string };

const OF_RECORDS = "goes with the records, which are counted";
const OF_CHANGE = "is of use to the requests of this layout alone"; // feature: previous-shards

export const TABLES: Readonly<Record<string, TableUse>> = {
  records: { holds: "records" },
  aliases: { why: OF_RECORDS },
  chunks: { holds: "bodies" },
  discarded: { why: "names bodies, which are counted until the alarm has erased them" },
  remote: { holds: "bodies" },
  excerpts: { holds: "bodies" },
  // Pending ones and dead ones, dead letters among them.
  outbox: { holds: "events" }, // feature: outbox
  resting: { why: "is of use to events, which are counted" }, // feature: outbox
  positions: { holds: "positions" }, // feature: claims
  sightings: { why: "is of requests that passed, and no exchange reads it" }, // feature: observe
  sighting_days: { why: "is of requests that passed, and no exchange reads it" }, // feature: observe
  sighting_examples: { why: "is in an object that belongs to no layout" }, // feature: observe
  alerts: { holds: "alerts", where: "due IS NOT NULL AND count > 0" }, // feature: outbox
  audit: { holds: "audit entries" }, // feature: audit
  counts: {
    why: "the totals get them before the layout may go; the last day loses them, and the reason why it may go says so",
  },
  totals: { why: "is in an object that belongs to no layout" },
  gathered: { why: "is in an object that keeps no records" },
  addresses: { why: "saves attempts a connection, and is found out again" },
  closed: { why: OF_CHANGE }, // feature: previous-shards
  closed_before: { why: OF_CHANGE }, // feature: previous-shards
  enrolment: { why: "says that the operators' object knows of this one" }, // feature: placement
  enrolled: { why: "is in an object that belongs to no layout" }, // feature: placement
  reach: { why: "is of use to look-ups of records, which are counted" },
};

/** What the object holds, without what it has none of. */
export function heldRows(sql: LedgerSql): readonly HeldRows[] {
  const found = new Set(
    sql
      .exec<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .toArray()
      .map(({ name }) => name),
  );
  const counts = new Map<HeldKind, number>();
  for (const [name, use] of Object.entries(TABLES)) {
    if (!("holds" in use) || !found.has(name)) continue;
    const { n } = sql
      .exec<{ n: number }>(
        `SELECT count(*) AS n FROM (SELECT 1 FROM ${name} WHERE ${use.where ?? "TRUE"} LIMIT ${MAX_HELD})`,
      )
      .one();
    counts.set(use.holds, Math.min(MAX_HELD, (counts.get(use.holds) ?? 0) + n));
  }
  return HELD.flatMap((what) => {
    const count = counts.get(what) ?? 0;
    return count === 0 ? [] : [{ what, count }];
  });
}
