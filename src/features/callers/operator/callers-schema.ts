// The operator API's request to forget a caller's records, and its answer. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import {
  withDescription,
  countSchema,
  unreachableShards,
  type WrittenBy,
  describedBody,
} from "../../../operator/schema-members.ts";
import { forgetScopeSchema, scopeValuesSchema } from "./scope-request-schema.ts";

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

export const forgetScopeRequestSchema = describedBody(forgetScopeSchema, {
  scope: {
    description:
      "The caller's value for each part of a scope that some route has or had (scope, previous_scope); null for a part that its requests lack. A route's scope also has host unless its origin is a URL.",
    example: { "header:authorization": "Bearer eyJhbGciOi…" },
    schema: scopeValuesSchema,
  },
  reason: { description: "Why this is done; written to the log.", example: "Request for erasure of 2026-11-21." },
  preview: { description: "Only count.", example: true },
  confirm: { description: "Forget them.", example: true },
  includeUnknown: {
    description: "Also forget records whose outcome is unknown: a retry may then repeat what has taken effect.",
    example: false,
  },
  cursor: { description: "From the answer before, with the same scope.", example: "" },
});

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
