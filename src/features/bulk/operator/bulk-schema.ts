// What the change of all records that a filter matches has done. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { previewEntries } from "../../../operator/change-schema.ts";
import { summarySchema } from "../../../operator/record-schema.ts";
import { A_TIME, withDescription, countSchema, timeSchema, type WrittenBy } from "../../../operator/schema-members.ts";

/** What one call has done. */
export const allChangedSchema = v.object({
  until: withDescription(
    timeSchema,
    "What began later, or was changed by an operator later, is left: give it with the next call.",
    A_TIME,
  ),
  matched: withDescription(countSchema, "Records that match: those that are counted below.", 14),
  states: withDescription(
    v.object({
      waiting: withDescription(countSchema, "Accepted, and waiting for an attempt.", 0),
      started: withDescription(countSchema, "An attempt is in flight.", 1),
      failed: withDescription(countSchema, "May be tried again.", 0),
      unknown: withDescription(countSchema, "The outcome is unknown.", 12),
      completed: withDescription(countSchema, "With a result.", 1),
      remembered: withDescription(countSchema, "Expired; only the key is left.", 0),
    }),
    "In which state the list showed them.",
  ),
  changed: withDescription(countSchema, "Records that were changed; with preview, those that would be.", 12),
  refused: withDescription(
    v.object({
      inFlight: withDescription(countSchema, "An attempt is in flight, or may still be running.", 1),
      completed: withDescription(countSchema, "Their response is final: they can only be forgotten.", 1),
      remembered: withDescription(countSchema, "Only their key is left: they can only be forgotten.", 0),
    }),
    "Records for which the change is refused, as it is for each alone.",
  ),
  skipped: withDescription(countSchema, "Records that have changed since they were listed.", 0),
  unanswered: withDescription(
    countSchema,
    "Records of a shard that did not answer; those that were to be changed may have been. Send it again from the start.",
    0,
  ),
  routes: withDescription(v.array(v.string()), "The routes of those that match.", ["/v1/payments/*"]),
  records: withDescription(v.array(summarySchema), "With preview, the first ten that match; otherwise none."),
  preview: withDescription(
    v.nullable(v.object(previewEntries)),
    "With resolve and preview, what retries would get. A header is left out if any of their routes leaves it out of replays.",
    null,
  ),
  unreachable: withDescription(
    v.array(v.string()),
    "Shards that did not answer within five seconds: what they hold is not counted, or under unanswered.",
    [],
  ),
  cursor: withDescription(
    v.nullable(v.string()),
    "For the next call; null when all records have been looked at.",
    null,
  ),
});

export type AllChangedView = WrittenBy<typeof allChangedSchema>;
