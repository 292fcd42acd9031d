// Requests with one key at the same time.

import type { CaseObservation, ConformanceCase } from "../case.ts";
import {
  callCount,
  type CaseFinding,
  firstVerdict,
  isExplained,
  isSame,
  replySucceeds,
  replySummary,
  statusOf,
  wholeAnswerOf,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import {
  burstStep,
  calledStep,
  COPY_NAMES,
  endStep,
  lookStep,
  mustCase,
  openStep,
  releaseStep,
  sendStep,
  shouldCase,
} from "./define.ts";

const NAMES = COPY_NAMES;

/** A duplicate while the first request runs, and a retry after it. */
const DUPLICATE = [
  openStep("first"),
  calledStep,
  openStep("copy"),
  lookStep("copy"),
  releaseStep,
  endStep("first"),
  endStep("copy"),
  sendStep("again"),
];

const CONFLICTS: ReadonlySet<number | null> = new Set([409, 425, 429, 503]);

const wasAsked = (seen: CaseObservation) => (): CaseFinding =>
  seen.early.includes("copy") ? null : { skip: "duplicates wait for the first answer" };

export const CONCURRENCY: readonly ConformanceCase[] = [
  mustCase(
    {
      id: "concurrency.one",
      says: "Ten requests with one key at once are one operation: each gets its answer, or a conflict.",
      profile: "P12",
      script: [burstStep, sendStep("again")],
      judge: (seen) =>
        firstVerdict(
          callCount(seen, 1),
          () => {
            const odd = NAMES.find(
              (name) => !CONFLICTS.has(statusOf(seen, name)) && isSame(seen, name, "again", "")() !== null,
            );
            return odd === undefined
              ? null
              : `one of them got ${replySummary(seen, odd)}, neither the answer nor a conflict`;
          },
          replySucceeds(seen, "again", "a retry after all of them"),
        ),
    },
    "2.6 SHOULD",
  ),
  mustCase(
    {
      id: "concurrency.in-flight",
      says: "A duplicate while the first request runs gets a conflict, or waits for the first answer. It is not processed.",
      profile: "P12",
      needs: ["origin"],
      origin: [{ hold: "head" }],
      script: DUPLICATE,
      judge: (seen) =>
        firstVerdict(replySucceeds(seen, "first", "the first request"), callCount(seen, 1), () =>
          seen.early.includes("copy")
            ? statusOf(seen, "copy") === 409
              ? null
              : `the duplicate got ${replySummary(seen, "copy")}, not 409`
            : isSame(seen, "copy", "first", "the duplicate that waited")(),
        ),
    },
    "2.6 SHOULD",
  ),
  mustCase(
    {
      id: "concurrency.after",
      says: "After that, a retry gets the first answer.",
      profile: "P12",
      needs: ["origin"],
      origin: [{ hold: "head" }],
      script: DUPLICATE,
      judge: (seen) =>
        firstVerdict(
          replySucceeds(seen, "first", "the first request"),
          isSame(seen, "again", "first", "the retry"),
          callCount(seen, 1),
        ),
    },
    "2.6 SHOULD",
  ),
  shouldCase({
    id: "concurrency.retry-after",
    says: "The conflict says when to try again.",
    profile: "P23",
    needs: ["origin"],
    origin: [{ hold: "head" }],
    script: DUPLICATE,
    judge: (seen) =>
      firstVerdict(wasAsked(seen), () => {
        const copy = wholeAnswerOf(seen, "copy");
        if (copy?.status !== 409) return `the duplicate got ${replySummary(seen, "copy")}, no conflict`;
        return headerValue(copy, "retry-after") === null ? "the 409 has no Retry-After" : null;
      }),
  }),
  shouldCase(
    {
      id: "concurrency.form",
      says: "The conflict is a problem document, or links to the documentation.",
      profile: "P22",
      needs: ["origin"],
      origin: [{ hold: "head" }],
      script: DUPLICATE,
      judge: (seen) =>
        firstVerdict(
          wasAsked(seen),
          () =>
            statusOf(seen, "copy") === 409 ? null : `the duplicate got ${replySummary(seen, "copy")}, no conflict`,
          isExplained(seen, "copy"),
        ),
    },
    "2.7 SHOULD",
  ),
  mustCase({
    id: "concurrency.lock",
    says: "A call that outlasts the server's lock is not made a second time.",
    profile: "P12",
    needs: ["origin", "lock"],
    origin: [{ hold: "head" }],
    script: [
      openStep("first"),
      calledStep,
      { do: "pause", until: "after the lock" },
      openStep("copy"),
      lookStep("copy"),
      releaseStep,
      endStep("first"),
      endStep("copy"),
    ],
    judge: (seen) => firstVerdict(callCount(seen, 1)),
  }),
];
