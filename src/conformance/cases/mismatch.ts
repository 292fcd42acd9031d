// One key, and another request.

import type { Case, Observation } from "../case.ts";
import {
  called,
  hasAnswerOf,
  isExplained,
  isRefused,
  isSame,
  judged,
  statusOf,
  succeeds,
  summary,
} from "../findings.ts";
import { end, isCalled, look, must, open, release, send, should } from "./define.ts";

/** Neither processed as a new operation nor answered with the old one's result. */
const isRefusedReuse = (seen: Observation) =>
  judged(succeeds(seen, "first", "the first request"), called(seen, 1), () =>
    isRefused(seen, "again") ? null : `the other request got ${summary(seen, "again")}, not a refusal`,
  );

/** It may be an operation of its own, or be refused, but the answer is not that of the first. */
const isNotAnswered = (seen: Observation) =>
  judged(succeeds(seen, "first", "the first request"), () =>
    hasAnswerOf(seen, "again", "first") || (seen.calls?.length === 1 && !isRefused(seen, "again"))
      ? `the other request got ${summary(seen, "again")}: the first one's answer`
      : null,
  );

function expectedStatus({ policy }: Observation): number {
  return policy?.mismatchStatus ?? 422;
}

export const MISMATCH: readonly Case[] = [
  must(
    {
      id: "mismatch.body",
      says: "A key that is reused with another payload is refused: not processed, and not answered with the first result.",
      profile: "P10",
      needs: ["other-body"],
      script: [send("first"), send("again", { body: "other" })],
      judge: isRefusedReuse,
    },
    "2.7 SHOULD",
  ),
  should(
    {
      id: "mismatch.status",
      says: "That refusal has status 422, or the one that the policy publishes.",
      profile: "P10",
      needs: ["other-body"],
      script: [send("first"), send("again", { body: "other" })],
      judge: (seen) =>
        judged(() =>
          statusOf(seen, "again") === expectedStatus(seen)
            ? null
            : `got ${summary(seen, "again")}, not ${expectedStatus(seen)}`,
        ),
    },
    "2.7 SHOULD",
  ),
  should(
    {
      id: "mismatch.form",
      says: "That refusal is a problem document, or links to the documentation.",
      profile: "P22",
      needs: ["other-body"],
      script: [send("first"), send("again", { body: "other" })],
      judge: (seen) =>
        judged(
          () => (isRefused(seen, "again") ? null : `got ${summary(seen, "again")}, no refusal`),
          isExplained(seen, "again"),
        ),
    },
    "2.7 SHOULD",
  ),
  must({
    id: "mismatch.query",
    says: "A key that is reused with another query does not get the first answer.",
    profile: "P10",
    script: [send("first", { query: "account=1" }), send("again", { query: "account=2" })],
    judge: isNotAnswered,
  }),
  must({
    id: "mismatch.path",
    says: "A key that is reused on another path does not get the first answer.",
    profile: "P10",
    needs: ["other-path"],
    script: [send("first"), send("again", { path: "other" })],
    judge: isNotAnswered,
  }),
  must({
    id: "mismatch.method",
    says: "A key that is reused with another method does not get the first answer.",
    profile: "P10",
    needs: ["origin"],
    script: [send("first"), send("again", { method: "PATCH" })],
    judge: isNotAnswered,
  }),
  must({
    id: "mismatch.first-kept",
    says: "A refused reuse leaves the first result as it was.",
    profile: "P10",
    needs: ["other-body"],
    script: [send("first"), send("other", { body: "other" }), send("again")],
    judge: (seen) =>
      judged(
        succeeds(seen, "first", "the first request"),
        isSame(seen, "again", "first", "the retry after the reuse"),
        called(seen, 1),
      ),
  }),
  should({
    id: "mismatch.in-flight",
    says: "A reuse is named as such while the first request still runs, so that its client does not try it again.",
    profile: "P11",
    needs: ["origin", "other-body"],
    origin: [{ hold: "head" }],
    script: [
      open("first"),
      isCalled,
      open("again", { body: "other" }),
      look("again"),
      release,
      end("first"),
      end("again"),
    ],
    judge: (seen) =>
      judged(succeeds(seen, "first", "the first request"), called(seen, 1), () =>
        statusOf(seen, "again") === expectedStatus(seen)
          ? null
          : `the reuse got ${summary(seen, "again")}, not ${expectedStatus(seen)}`,
      ),
  }),
];
