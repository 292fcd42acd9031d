// The Agentic Commerce Protocol's rules about idempotency: rfcs/rfc.agentic_checkout.md, section 6; section 5 of rfc.delegate_payment.md has the same.

import type { ConformanceCase } from "../case.ts";
import {
  areTwoOperations,
  callCount,
  firstVerdict,
  isOneOperation,
  isSame,
  isSuccess,
  keptFor,
  markOf,
  replySucceeds,
  replySummary,
  statusOf,
  wholeAnswerOf,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import {
  burstStep,
  COPY_NAMES,
  cutSteps,
  mustCase,
  sendStep,
  settleStep,
  shouldCase,
  twiceSteps,
  whileRunningSteps,
} from "./define.ts";
import { bodyPair, isAcpConflict, isAcpError, isAcpReuse } from "./commerce-findings.ts";
import { ACP_KEYS } from "./acp-keys.ts";

const DAY_S = 86_400;
const shared = { profile: "6.4", origin: [{ hold: "head" }] } as const;

const IN_FLIGHT: readonly ConformanceCase[] = [
  mustCase({
    ...shared,
    id: "flight.body",
    says: "A request whose key is in flight gets 409 with the protocol's error.",
    needs: ["origin"],
    script: whileRunningSteps(),
    judge: (seen) => firstVerdict(callCount(seen, 1), isAcpError(seen, "again", 409, "idempotency_in_flight")),
  }),
  shouldCase({
    ...shared,
    id: "flight.retry-after",
    says: "That answer has Retry-After.",
    needs: ["origin"],
    script: whileRunningSteps(),
    judge: (seen) =>
      firstVerdict(isAcpError(seen, "again", 409, "idempotency_in_flight"), () => {
        const answer = wholeAnswerOf(seen, "again");
        return answer !== null && headerValue(answer, "retry-after") !== null ? null : "it has none";
      }),
  }),
  mustCase({
    ...shared,
    id: "flight.conflict",
    says: "Another body is refused in flight too, as a conflict or as in flight, and is not processed.",
    needs: ["origin", "other-body"],
    script: whileRunningSteps({ body: "other" }),
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), () => {
        const finding = isAcpError(seen, "again", 409, "idempotency_in_flight")();
        return finding === null ? null : isAcpConflict(seen, "again")();
      }),
  }),
];

export const ACP: readonly ConformanceCase[] = [
  ...ACP_KEYS,
  mustCase({
    id: "replay.status",
    says: "A repeated request gets the first answer with its status, and is not processed.",
    profile: "6.3",
    origin: [{ status: 202 }, { status: 200 }],
    script: twiceSteps,
    judge: isOneOperation,
  }),
  shouldCase({
    id: "replay.marked",
    says: "A replay says so: Idempotent-Replayed: true.",
    profile: "6.3",
    script: twiceSteps,
    judge: (seen) =>
      firstVerdict(isSame(seen, "again", "first", "the repeated request"), () => {
        const answer = wholeAnswerOf(seen, "again");
        return answer !== null && markOf(answer) === "idempotent-replayed" ? null : "the replay is not marked";
      }),
  }),
  mustCase({
    id: "replay.update",
    says: "So does an update of a session.",
    profile: "6.3",
    needs: ["origin"],
    origin: [{ status: 200 }, { status: 200 }],
    script: [sendStep("first", { path: { below: "one" } }), sendStep("again", { path: { below: "one" } })],
    judge: isOneOperation,
  }),
  mustCase({
    id: "conflict.body",
    says: "A key with another body gets 422 with the protocol's error, and is not processed.",
    profile: "6.4",
    needs: ["other-body"],
    script: [sendStep("first"), sendStep("again", { body: "other" })],
    judge: isAcpReuse,
  }),
  ...IN_FLIGHT,
  mustCase({
    id: "5xx.not-kept",
    says: "An answer with 5xx is not kept: the same request is a fresh one.",
    profile: "6.5",
    needs: ["origin"],
    origin: [{ status: 500 }, {}],
    script: twiceSteps,
    judge: (seen) => firstVerdict(replySucceeds(seen, "again", "the next try"), callCount(seen, 2)),
  }),
  shouldCase({
    id: "5xx.fresh-body",
    says: "After a 5xx the key takes a corrected body.",
    profile: "6.5",
    needs: ["origin"],
    origin: [{ status: 500 }, {}],
    script: bodyPair('{"a":1}', '{"a":2}'),
    judge: (seen) => firstVerdict(replySucceeds(seen, "again", "the corrected request"), callCount(seen, 2)),
  }),
  mustCase({
    id: "4xx.kept",
    says: "An answer with 4xx is kept.",
    profile: "6.3",
    needs: ["origin"],
    origin: [{ status: 400, pieces: ['{"code":"invalid"}'] }, {}],
    script: twiceSteps,
    judge: (seen) => firstVerdict(isSame(seen, "again", "first", "the repeated request"), callCount(seen, 1)),
  }),
  shouldCase({
    id: "lost.fresh",
    says: "A call that was lost is followed by a fresh attempt.",
    profile: "6.5",
    needs: ["origin"],
    origin: [{ drop: "head" }, {}],
    script: [sendStep("first"), settleStep("again")],
    judge: (seen) => firstVerdict(replySucceeds(seen, "again", "the next try"), callCount(seen, 2)),
  }),
  mustCase({
    id: "life.24h",
    says: "An answer is kept for 24 hours at least, as far as the server says how long.",
    profile: "6.6",
    script: [sendStep("first")],
    judge: (seen) => keptFor(seen, DAY_S),
  }),
  mustCase({
    id: "life.then-new",
    says: "After that the key is a new one, and no error.",
    profile: "6.6",
    needs: ["retention"],
    script: [sendStep("first"), { do: "pause", until: "after the retention" }, sendStep("again")],
    judge: areTwoOperations,
  }),
  mustCase({
    id: "burst.ten",
    says: "Of ten equal requests at once one is processed; the others get its answer, or 409.",
    profile: "6.4",
    script: [burstStep],
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), () => {
        const [first, ...others] = COPY_NAMES.filter((name) => isSuccess(seen, name));
        if (first === undefined) return "none succeeded";
        const odd = COPY_NAMES.find((name) => !isSuccess(seen, name) && statusOf(seen, name) !== 409);
        if (odd !== undefined) return `one got ${replySummary(seen, odd)}`;
        return others.map((name) => isSame(seen, name, first, "one")()).find((found) => found !== null) ?? null;
      }),
  }),
  mustCase({
    id: "cut.reply",
    says: "A client whose line breaks before the answer gets it with the same key, and nothing is processed twice.",
    profile: "6.3",
    needs: ["origin"],
    origin: [{ hold: "head" }],
    script: cutSteps,
    judge: (seen) => firstVerdict(replySucceeds(seen, "again", "the next try"), callCount(seen, 1)),
  }),
];
