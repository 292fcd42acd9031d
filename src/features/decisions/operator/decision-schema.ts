// Decisions about records, as the Worker and the command line parse them, and the words for what has become of one. Imports nothing that needs the
// Worker.

import * as v from "valibot";

import type { OperatorChange } from "../../../kernel/record/timeline.ts";
import { MAX_KEY_LENGTH } from "../../../kernel/record/units.ts";
import { givenResponseEntries, previewStepEntries, reasonSchema, RECORD_ID } from "../../../operator/request-schema.ts";

export const DECISIONS = ["release", "resolve", "forget"] as const satisfies readonly OperatorChange[];

export const DECISION_OUTCOMES = [
  "changed",
  "would-change",
  "already",
  "decided-since",
  "began-since",
  "ended-since",
  "in-flight",
  "completed",
  "remembered",
  "not-found",
  "several",
  "unreachable",
  "unanswered",
  "not-reached",
] as const;
export type DecisionOutcome = (typeof DECISION_OUTCOMES)[number];

const OUTCOME_TEXTS: Readonly<Record<DecisionOutcome, string>> = {
  changed: "done",
  "would-change": "to do",
  already: "decided so already",
  "decided-since": "an operator has decided otherwise since",
  "began-since": "another attempt has begun since",
  "ended-since": "its attempt has ended since: ask the origin again",
  "in-flight": "an attempt is in flight, or may still be running",
  completed: "completed, with another response: it can only be forgotten",
  remembered: "only its key is left: it can only be forgotten",
  "not-found": "there is no such record: never used, expired or forgotten",
  several: "several records have this key: write the id of one",
  unreachable: "its shard does not answer",
  unanswered: "its shard did not answer: it may have been changed",
  "not-reached": "not looked at",
};

/** In a sentence for people. A newer gateway may have other words. */
export function outcomeText(outcome: string): string {
  const known = DECISION_OUTCOMES.find((one) => one === outcome);
  return known === undefined ? outcome : OUTCOME_TEXTS[known];
}

/** Whether nobody need look at it again. */
export function isSettled(outcome: string): boolean {
  return outcome === "changed" || outcome === "would-change" || outcome === "already";
}

/** Of one request. */
export const MAX_DECISIONS = 500;

const KEY = `key must be the idempotency key, of 1 to ${MAX_KEY_LENGTH} visible ASCII characters.`;
const ID = "id must be a record's id, as records list --json prints it: 64 digits of 0-9 and a-f.";
const LIST = `decisions must be a list of 1 to ${MAX_DECISIONS}.`;

export const decisionSchema = v.strictObject(
  {
    key: v.exactOptional(v.pipe(v.string(KEY), v.regex(new RegExp(`^[\\x21-\\x7e]{1,${MAX_KEY_LENGTH}}$`), KEY))),
    id: v.exactOptional(v.pipe(v.string(ID), v.regex(RECORD_ID, ID))),
    decision: v.picklist(DECISIONS, `decision must be one of ${DECISIONS.join(", ")}.`),
    status: v.exactOptional(givenResponseEntries.status),
    headers: v.exactOptional(givenResponseEntries.headers),
    body: v.exactOptional(givenResponseEntries.body),
    bodyBase64: v.exactOptional(givenResponseEntries.bodyBase64),
    reason: v.exactOptional(reasonSchema),
  },
  'A decision is a JSON object with decision, key or id, and nothing else but status, headers, body, bodyBase64 and reason: write {"key":"…","decision":"resolve","status":201,"body":"…"}.',
);

export type WrittenDecision = v.InferOutput<typeof decisionSchema>;

export const decideSchema = v.strictObject(
  {
    decisions: v.pipe(v.array(v.unknown(), LIST), v.minLength(1, LIST), v.maxLength(MAX_DECISIONS, LIST)),
    reason: v.exactOptional(reasonSchema),
    ...previewStepEntries,
  },
  'The body must be JSON: write {"decisions":[{"key":"…","decision":"release"}],"reason":"…","preview":true}.',
);

export const DECIDE = { path: "/records/decide", body: decideSchema };
