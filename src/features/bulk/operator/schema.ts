// The operator API's request that changes all records that a filter matches, and its answer. As in record-schema.ts, the Worker imports
// only types from here.

import * as v from "valibot";

import { givenResponseMembers, previewEntries, reasonMember } from "../../../operator/change-schema.ts";
import { summarySchema } from "../../../operator/record-schema.ts";
import { changeAllEntries } from "./all-request-schema.ts";
import { A_TIME, about, count, time, type Written } from "../../../operator/schema-members.ts";

export const changeAllRequestSchema = v.strictObject({
  change: about(changeAllEntries.change, "What is done to each record.", "release"),
  filter: about(
    changeAllEntries.filter,
    "Which records: the conditions of GET /records, by the same names and in the same form, without limit and cursor. At least one.",
    { state: "unknown", route: "/v1/payments/*" },
  ),
  reason: reasonMember,
  response: v.exactOptional(about(givenResponseMembers, "Only with resolve: what every one of them is given.")),
  preview: v.exactOptional(about(changeAllEntries.preview, "Only count.", true)),
  confirm: v.exactOptional(about(changeAllEntries.confirm, "Change them.", true)),
  until: v.exactOptional(
    about(
      changeAllEntries.until,
      "From the answer of the preview; a preview without it takes the time of the call.",
      A_TIME,
    ),
  ),
  cursor: v.exactOptional(
    about(changeAllEntries.cursor, "From the answer before, with the same request and its until.", ""),
  ),
});

/** What one call has done. */
export const allChangedSchema = v.object({
  until: about(
    time,
    "What began later, or was changed by an operator later, is left: give it with the next call.",
    A_TIME,
  ),
  matched: about(count, "Records that match: those that are counted below.", 14),
  states: about(
    v.object({
      waiting: about(count, "Accepted, and waiting for an attempt.", 0),
      started: about(count, "An attempt is in flight.", 1),
      failed: about(count, "May be tried again.", 0),
      unknown: about(count, "The outcome is unknown.", 12),
      completed: about(count, "With a result.", 1),
      remembered: about(count, "Expired; only the key is left.", 0),
    }),
    "In which state the list showed them.",
  ),
  changed: about(count, "Records that were changed; with preview, those that would be.", 12),
  refused: about(
    v.object({
      inFlight: about(count, "An attempt is in flight, or may still be running.", 1),
      completed: about(count, "Their response is final: they can only be forgotten.", 1),
      remembered: about(count, "Only their key is left: they can only be forgotten.", 0),
    }),
    "Records for which the change is refused, as it is for each alone.",
  ),
  skipped: about(count, "Records that have changed since they were listed.", 0),
  unanswered: about(
    count,
    "Records of a shard that did not answer; those that were to be changed may have been. Send it again from the start.",
    0,
  ),
  routes: about(v.array(v.string()), "The routes of those that match.", ["/v1/payments/*"]),
  records: about(v.array(summarySchema), "With preview, the first ten that match; otherwise none."),
  preview: about(
    v.nullable(v.object(previewEntries)),
    "With resolve and preview, what retries would get. A header is left out if any of their routes leaves it out of replays.",
    null,
  ),
  unreachable: about(
    v.array(v.string()),
    "Shards that did not answer within five seconds: what they hold is not counted, or under unanswered.",
    [],
  ),
  cursor: about(v.nullable(v.string()), "For the next call; null when all records have been looked at.", null),
});

export type AllChangedView = Written<typeof allChangedSchema>;
