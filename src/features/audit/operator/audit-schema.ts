// The answers of the operator API about the audit log. As in record-schema.ts, the Worker takes only types from here.

import * as v from "valibot";

import { PROOFS, ROLES } from "../../../kernel/record/audit.ts";
import {
  A_TIME,
  withDescription,
  AN_ID,
  countSchema,
  timeSchema,
  wordsSchema,
  type WrittenBy,
} from "../../../operator/schema-members.ts";

export const auditEntrySchema = v.object({
  number: withDescription(countSchema, "Its place in the log. They rise by one, so that a gap would show.", 41),
  at: withDescription(timeSchema, "When it was written: before the change was made.", A_TIME),
  by: withDescription(v.string(), "Who: an operator's name, an e-mail address (with Access), admin or reader.", "ann"),
  role: withDescription(wordsSchema(ROLES), "The operator's role.", "admin"),
  via: withDescription(wordsSchema(PROOFS), "How the operator was known.", "token"),
  action: withDescription(v.string(), "What was done: release, release-all, resend.", "release"),
  target: withDescription(
    v.nullable(v.string()),
    "To what: a record's id, a filter of records (with a digest of its key) and its time, the parts of a scope, a destination (and an event's id), a layout, a queue; null: to the gateway.",
    AN_ID,
  ),
  reason: withDescription(
    v.nullable(v.string()),
    "Why, in the operator's words.",
    "The origin's log has no such payment.",
  ),
  key: withDescription(
    v.nullable(v.string()),
    "The key of the record, unless it is encrypted; null: the entry is of no record.",
    null,
  ),
  label: withDescription(
    v.nullable(v.string()),
    "What operators know the request by (`note.label`); null: nothing, or the entry is of no record.",
    "order-1042",
  ),
  address: withDescription(v.string(), "From where.", "203.0.113.7"),
  outcome: withDescription(
    v.nullable(v.string()),
    'What came of it: "done", "refused" and why, or "no answer"; null: not known, it may have been done.',
    "done",
  ),
});

export const auditPageSchema = v.object({
  entries: withDescription(v.array(auditEntrySchema), "Newest first."),
  cursor: withDescription(v.nullable(v.string()), "For the next page; null: this is the last one.", null),
});

export type AuditEntryView = WrittenBy<typeof auditEntrySchema>;
export type AuditPageView = WrittenBy<typeof auditPageSchema>;
