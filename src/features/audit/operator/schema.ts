// The answers of the operator API about the audit log. As in record-schema.ts, the Worker takes only types from here.

import * as v from "valibot";

import { AUDITED, PROOFS, ROLES } from "../../../kernel/record/audit.ts";
import { A_TIME, about, AN_ID, count, time, words, type Written } from "../../../operator/schema-members.ts";

export const auditEntrySchema = v.object({
  number: about(count, "Its place in the log. They rise by one, so that a gap would show.", 41),
  at: about(time, "When it was written: before the change was made.", A_TIME),
  by: about(v.string(), "Who: an operator's name, an e-mail address (with Access), admin or reader.", "ann"),
  role: about(words(ROLES), "The operator's role.", "admin"),
  via: about(words(PROOFS), "How the operator was known.", "token"),
  action: about(words(AUDITED), "What was done.", "release"),
  target: about(
    v.nullable(v.string()),
    "To what: a record's id, a filter of records (with a digest of its key) and its time, the parts of a scope, a destination (and an event's id), a layout, a queue; null: to the gateway.",
    AN_ID,
  ),
  reason: about(v.nullable(v.string()), "Why, in the operator's words.", "The origin's log has no such payment."),
  address: about(v.string(), "From where.", "203.0.113.7"),
  outcome: about(
    v.nullable(v.string()),
    'What came of it: "done", "refused" and why, or "no answer"; null: not known, it may have been done.',
    "done",
  ),
});

export const auditPageSchema = v.object({
  entries: about(v.array(auditEntrySchema), "Newest first."),
  cursor: about(v.nullable(v.string()), "For the next page; null: this is the last one.", null),
});

export type AuditEntryView = Written<typeof auditEntrySchema>;
export type AuditPageView = Written<typeof auditPageSchema>;
