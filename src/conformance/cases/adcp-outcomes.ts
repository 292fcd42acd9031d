// AdCP's rules about what is kept, about requests that come at once, and about whose a key is.

import type { CallBehaviour, ConformanceCase } from "../case.ts";
import { callCount, firstVerdict, valueIn } from "../findings.ts";
import { burstStep, COPY_NAMES, cutSteps, mustCase, sendStep, shouldCase, whileRunningSteps } from "./define.ts";
import { haveOneResult, inputKeyCall } from "./rpc-findings.ts";
import type { ToolCall } from "../tool-call.ts";
import {
  boughtAgain,
  boughtAnswer,
  boughtIn,
  buyAgain,
  contentOf,
  firstBuy,
  areTwoBuys,
  countedBuys,
  hasBought,
  isAdcpConflict,
  isAdcpError,
  isAdcpReplay,
  taskAnswer,
  twoBuys,
} from "./adcp-buys.ts";

/** The first answer is no success, so it is not kept: the next try is processed. */
const notKept = (
  id: string,
  says: string,
  behaviour: CallBehaviour,
  more: Omit<ToolCall, "id"> = {},
): ConformanceCase =>
  mustCase({
    needs: ["origin"],
    id,
    says,
    profile: "rule 3",
    origin: [behaviour, boughtAnswer],
    script: [firstBuy, buyAgain(more)],
    judge: (seen) => firstVerdict(callCount(seen, 2), hasBought(seen, "again", 7)),
  });

const failure = taskAnswer({ adcp_error: { code: "BUDGET_TOO_LOW", message: "no", recovery: "correctable" } }, true);

const held = {
  needs: ["origin"],
  origin: [{ ...boughtAnswer, hold: "head" }, boughtAgain],
  profile: "rule 9",
} as const;

export const ADCP_OUTCOMES: readonly ConformanceCase[] = [
  mustCase({
    ...held,
    id: "conflict.in-flight",
    says: "Another payload while the first request runs is a conflict, too.",
    script: whileRunningSteps(inputKeyCall("next", { input: "other" }), inputKeyCall(7)),
    judge: isAdcpConflict,
  }),
  notKept("error.not-kept", "A tool's error is not kept: the same request is processed again.", failure),
  notKept("error.status", "Nor is a task that failed.", taskAnswer({ status: "failed", errors: [] })),
  notKept("error.corrected", "After an error the key takes a corrected payload.", failure, { input: "other" }),
  notKept(
    "limited.not-kept",
    "RATE_LIMITED is not kept.",
    taskAnswer({ adcp_error: { code: "RATE_LIMITED", message: "later", recovery: "transient", retry_after: 1 } }, true),
  ),
  mustCase({
    needs: ["origin"],
    id: "submitted.kept",
    says: "An answer with the status submitted is kept.",
    profile: "rule 2",
    origin: [taskAnswer({ status: "submitted", task_id: "t-1", media_buy_id: "mb-1" }), boughtAgain],
    script: [firstBuy, buyAgain()],
    judge: isAdcpReplay,
  }),
  mustCase({
    ...held,
    id: "flight.policy",
    says: "An equal request in flight waits for the first one's answer, or gets IDEMPOTENCY_IN_FLIGHT.",
    script: whileRunningSteps(inputKeyCall("next"), inputKeyCall(7)),
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), () => {
        const found = isAdcpError(seen, "again", "next", ["IDEMPOTENCY_IN_FLIGHT"])();
        return found === null ? null : hasBought(seen, "again", "next")();
      }),
  }),
  mustCase({
    ...held,
    id: "flight.retry-after",
    says: "IDEMPOTENCY_IN_FLIGHT says when to come again.",
    script: whileRunningSteps(inputKeyCall("next"), inputKeyCall(7)),
    judge: (seen) =>
      firstVerdict(() => {
        if (isAdcpError(seen, "again", "next", ["IDEMPOTENCY_IN_FLIGHT"])() !== null)
          return { skip: "requests in flight are not answered so" };
        const seconds = valueIn(contentOf(seen, "again"), "adcp_error", "retry_after");
        return typeof seconds === "number" && seconds > 0 ? null : "it has no retry_after";
      }),
  }),
  mustCase({
    ...countedBuys,
    id: "scope.account",
    says: "The same key for another account is another operation.",
    profile: "Idempotency",
    script: [firstBuy, buyAgain({ with: { account: { account_id: "two" } } })],
    judge: (seen) => areTwoBuys(seen),
  }),
  mustCase({
    ...twoBuys,
    needs: ["other-caller"],
    id: "scope.agent",
    says: "The same key of another agent is another operation.",
    profile: "Idempotency",
    script: [firstBuy, sendStep("again", { ...inputKeyCall("next"), caller: "other" })],
    judge: (seen) => areTwoBuys(seen),
  }),
  mustCase({
    ...twoBuys,
    id: "burst.ten",
    says: "Of ten equal requests at once one is processed.",
    profile: "rule 9",
    script: [burstStep],
    judge: (seen) => firstVerdict(callCount(seen, 1), haveOneResult(seen, COPY_NAMES, boughtIn)),
  }),
  mustCase({
    ...held,
    id: "cut.reply",
    says: "A client whose line breaks before the answer gets it with the same key, and nothing is processed twice.",
    profile: "rule 4",
    script: cutSteps,
    judge: (seen) => firstVerdict(callCount(seen, 1), hasBought(seen, "again", 7)),
  }),
  shouldCase({
    ...twoBuys,
    needs: ["origin", "retention"],
    id: "expired",
    says: "After the declared time the key gets IDEMPOTENCY_EXPIRED, and is not processed.",
    profile: "rule 6",
    script: [firstBuy, { do: "pause", until: "after the retention" }, buyAgain()],
    judge: (seen) => firstVerdict(callCount(seen, 1), isAdcpError(seen, "again", "next", ["IDEMPOTENCY_EXPIRED"])),
  }),
];
