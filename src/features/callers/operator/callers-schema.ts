// The operator API's answer when a caller's records are forgotten. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { withDescription, countSchema, unreachableShards, type WrittenBy } from "../../../operator/schema-members.ts";

const erasedEntries = {
  forgotten: withDescription(countSchema, "Records that were forgotten; with preview, those that would be.", 12),
  inFlight: withDescription(
    countSchema,
    "Records that are left because an attempt is in flight or may still be running: forget them later.",
    0,
  ),
  unknown: withDescription(
    countSchema,
    "Records that are left because their outcome is unknown; with preview, all of these.",
    1,
  ),
  events: withDescription(
    countSchema,
    "Events of the caller that the outbox still had, dead letters included, and that were erased; with preview, those that would be.",
    3,
  ),
};

/** What one call has done. */
export const scopeErasedSchema = v.object({
  ...erasedEntries,
  notListed: withDescription(
    v.array(v.string()),
    "Layouts with an object for each key: their records are found only by their keys.",
    [],
  ),
  unreachable: unreachableShards,
  cursor: withDescription(v.nullable(v.string()), "For the next call; null when all shards have been asked.", null),
});

export type ScopeErasedView = WrittenBy<typeof scopeErasedSchema>;
