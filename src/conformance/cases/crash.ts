// What is left when the server's process is killed and started again.

import type { CaseBehaviour, ConformanceCase } from "../case.ts";
import {
  wholeAnswerOf,
  asksForLater,
  callCount,
  isRefused,
  isSame,
  firstVerdict,
  notRepeated,
  replyOf,
  replySucceeds,
  replySummary,
} from "../findings.ts";
import { endStep, calledStep, mustCase, openStep, restartStep, sendStep, settleStep, shouldCase } from "./define.ts";
import { isNoHalf, PIECES } from "./streaming.ts";

const HELD: CaseBehaviour = [{ hold: "head" }, { status: 201 }];
const HELD_BODY: CaseBehaviour = [{ status: 200, pieces: PIECES, hold: "body" }, { status: 201 }];

export const CRASH: readonly ConformanceCase[] = [
  mustCase({
    id: "crash.finished",
    says: "A result that a client has seen is replayed after a crash.",
    profile: "P20",
    needs: ["restart"],
    script: [sendStep("first"), restartStep, sendStep("again")],
    judge: (seen) =>
      firstVerdict(
        replySucceeds(seen, "first", "the first request"),
        isSame(seen, "again", "first", "the retry after the crash"),
        callCount(seen, 1),
      ),
  }),
  mustCase({
    id: "crash.mismatch",
    says: "A reuse with another payload is refused after a crash too.",
    profile: "P20",
    needs: ["restart", "other-body"],
    script: [sendStep("first"), restartStep, sendStep("again", { body: "other" })],
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the first request"), callCount(seen, 1), () =>
        isRefused(seen, "again") ? null : `the other request got ${replySummary(seen, "again")}`,
      ),
  }),
  mustCase({
    id: "crash.in-flight",
    says: "An operation whose call was in flight at the crash is not silently run again.",
    profile: "P20",
    needs: ["restart", "origin"],
    origin: HELD,
    script: [openStep("first"), calledStep, restartStep, endStep("first"), settleStep("again")],
    judge: (seen) => firstVerdict(notRepeated(seen)),
  }),
  shouldCase({
    id: "crash.not-stuck",
    says: "When the lock of that call has ended, its client gets another answer than to come back later.",
    profile: "P20",
    needs: ["restart", "origin", "lock"],
    origin: HELD,
    script: [
      openStep("first"),
      calledStep,
      restartStep,
      endStep("first"),
      { do: "pause", until: "after the lock" },
      sendStep("again"),
    ],
    judge: (seen) =>
      firstVerdict(() => {
        const again = wholeAnswerOf(seen, "again");
        if (again === null) return `the retry got ${replySummary(seen, "again")}`;
        return asksForLater(again)
          ? `the retry still got ${replySummary(seen, "again")} which says to come back`
          : null;
      }),
  }),
  mustCase({
    id: "crash.stream",
    says: "After a crash in the middle of an answer, nobody gets the half of it as a whole, and the operation is not silently run again.",
    profile: "P20",
    needs: ["restart", "origin"],
    origin: HELD_BODY,
    script: [
      openStep("first"),
      calledStep,
      { do: "piece", as: "first" },
      restartStep,
      endStep("first"),
      settleStep("again"),
    ],
    judge: (seen) =>
      firstVerdict(
        () => (isNoHalf(replyOf(seen, "first")) ? null : "the first client got half an answer that looks whole"),
        () => (isNoHalf(replyOf(seen, "again")) ? null : "the retry got half an answer that looks whole"),
        notRepeated(seen),
      ),
  }),
];
