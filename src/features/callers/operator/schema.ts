// The operator API's request to forget a caller's records, and its answer. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { reasonSchema } from "../../../operator/request-schema.ts";
import { about, count, unreachable, type Written } from "../../../operator/schema-members.ts";
import { forgetScopeEntries, scopeValuesSchema } from "./scope-request-schema.ts";

const erasedEntries = {
  forgotten: about(count, "Records that were forgotten; with preview, those that would be.", 12),
  inFlight: about(
    count,
    "Records that are left because an attempt is in flight or may still be running: forget them later.",
    0,
  ),
  unknown: about(count, "Records that are left because their outcome is unknown; with preview, all of these.", 1),
  events: about(
    count,
    "Events of the caller that the outbox still had, dead letters included, and that were erased; with preview, those that would be.",
    3,
  ),
};

export const forgetScopeRequestSchema = v.strictObject({
  scope: about(
    scopeValuesSchema,
    "The caller's value for each part of a scope that some route has or had (scope, previous_scope); null for a part that its requests lack. A route's scope also has host unless its origin is a URL.",
    { "header:authorization": "Bearer eyJhbGciOi…" },
  ),
  reason: about(reasonSchema, "Why this is done; written to the log.", "Request for erasure of 2026-11-21."),
  preview: v.exactOptional(about(forgetScopeEntries.preview, "Only count.", true)),
  confirm: v.exactOptional(about(forgetScopeEntries.confirm, "Forget them.", true)),
  includeUnknown: v.exactOptional(
    about(
      forgetScopeEntries.includeUnknown,
      "Also forget records whose outcome is unknown: a retry may then repeat what has taken effect.",
      false,
    ),
  ),
  cursor: v.exactOptional(about(forgetScopeEntries.cursor, "From the answer before, with the same scope.", "")),
});

/** What one call has done. */
export const scopeErasedSchema = v.object({
  ...erasedEntries,
  notListed: about(
    v.array(v.string()),
    "Layouts with an object for each key: their records are found only by their keys.",
    [],
  ),
  unreachable,
  cursor: about(v.nullable(v.string()), "For the next call; null when all shards have been asked.", null),
});

export type ScopeErasedView = Written<typeof scopeErasedSchema>;
