// What has become of a decision, in a sentence for people.

import { DECISION_OUTCOMES, type DecisionOutcome } from "./decision-schema.ts";

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

/** A newer gateway may have other words. */
export function outcomeText(outcome: string): string {
  const known = DECISION_OUTCOMES.find((one) => one === outcome);
  return known === undefined ? outcome : OUTCOME_TEXTS[known];
}

/** Whether nobody need look at it again. */
export function isSettled(outcome: string): boolean {
  return outcome === "changed" || outcome === "would-change" || outcome === "already";
}
