// One key, and another request.

import type { ConformanceCase, CaseObservation } from "../case.ts";
import {
  callCount,
  hasAnswerOf,
  isExplained,
  isRefused,
  isSame,
  firstVerdict,
  statusOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import { endStep, calledStep, lookStep, mustCase, openStep, releaseStep, sendStep, shouldCase } from "./define.ts";

/** Neither processed as a new operation nor answered with the old one's result. */
const isRefusedReuse = (seen: CaseObservation) =>
  firstVerdict(replySucceeds(seen, "first", "the first request"), callCount(seen, 1), () =>
    isRefused(seen, "again") ? null : `the other request got ${replySummary(seen, "again")}, not a refusal`,
  );

/** It may be an operation of its own, or be refused, but the answer is not that of the first. */
const isNotAnswered = (seen: CaseObservation) =>
  firstVerdict(replySucceeds(seen, "first", "the first request"), () =>
    hasAnswerOf(seen, "again", "first") || (seen.calls?.length === 1 && !isRefused(seen, "again"))
      ? `the other request got ${replySummary(seen, "again")}: the first one's answer`
      : null,
  );

function expectedStatus({ policy }: CaseObservation): number {
  return policy?.mismatchStatus ?? 422;
}

export const MISMATCH: readonly ConformanceCase[] = [
  mustCase(
    {
      id: "mismatch.body",
      says: "A key that is reused with another payload is refused: not processed, and not answered with the first result.",
      profile: "P10",
      needs: ["other-body"],
      script: [sendStep("first"), sendStep("again", { body: "other" })],
      judge: isRefusedReuse,
    },
    "2.7 SHOULD",
  ),
  shouldCase(
    {
      id: "mismatch.status",
      says: "That refusal has status 422, or the one that the policy publishes.",
      profile: "P10",
      needs: ["other-body"],
      script: [sendStep("first"), sendStep("again", { body: "other" })],
      judge: (seen) =>
        firstVerdict(() =>
          statusOf(seen, "again") === expectedStatus(seen)
            ? null
            : `got ${replySummary(seen, "again")}, not ${expectedStatus(seen)}`,
        ),
    },
    "2.7 SHOULD",
  ),
  shouldCase(
    {
      id: "mismatch.form",
      says: "That refusal is a problem document, or links to the documentation.",
      profile: "P22",
      needs: ["other-body"],
      script: [sendStep("first"), sendStep("again", { body: "other" })],
      judge: (seen) =>
        firstVerdict(
          () => (isRefused(seen, "again") ? null : `got ${replySummary(seen, "again")}, no refusal`),
          isExplained(seen, "again"),
        ),
    },
    "2.7 SHOULD",
  ),
  mustCase({
    id: "mismatch.query",
    says: "A key that is reused with another query does not get the first answer.",
    profile: "P10",
    script: [sendStep("first", { query: "account=1" }), sendStep("again", { query: "account=2" })],
    judge: isNotAnswered,
  }),
  mustCase({
    id: "mismatch.path",
    says: "A key that is reused on another path does not get the first answer.",
    profile: "P10",
    needs: ["other-path"],
    script: [sendStep("first"), sendStep("again", { path: "other" })],
    judge: isNotAnswered,
  }),
  mustCase({
    id: "mismatch.method",
    says: "A key that is reused with another method does not get the first answer.",
    profile: "P10",
    needs: ["origin"],
    script: [sendStep("first"), sendStep("again", { method: "PATCH" })],
    judge: isNotAnswered,
  }),
  mustCase({
    id: "mismatch.first-kept",
    says: "A refused reuse leaves the first result as it was.",
    profile: "P10",
    needs: ["other-body"],
    script: [sendStep("first"), sendStep("other", { body: "other" }), sendStep("again")],
    judge: (seen) =>
      firstVerdict(
        replySucceeds(seen, "first", "the first request"),
        isSame(seen, "again", "first", "the retry after the reuse"),
        callCount(seen, 1),
      ),
  }),
  shouldCase({
    id: "mismatch.in-flight",
    says: "A reuse is named as such while the first request still runs, so that its client does not try it again.",
    profile: "P11",
    needs: ["origin", "other-body"],
    origin: [{ hold: "head" }],
    script: [
      openStep("first"),
      calledStep,
      openStep("again", { body: "other" }),
      lookStep("again"),
      releaseStep,
      endStep("first"),
      endStep("again"),
    ],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the first request"), callCount(seen, 1), () =>
        statusOf(seen, "again") === expectedStatus(seen)
          ? null
          : `the reuse got ${replySummary(seen, "again")}, not ${expectedStatus(seen)}`,
      ),
  }),
];
