// The Agentic Commerce Protocol's rules about idempotency: rfcs/rfc.agentic_checkout.md, section 6; section 5 of rfc.delegate_payment.md has the same.

import type { ConformanceCase, OriginBehaviour } from "../case.ts";
import {
  callCount,
  firstVerdict,
  isSame,
  isSuccess,
  markOf,
  replySucceeds,
  replySummary,
  statusOf,
  wholeAnswerOf,
} from "../findings.ts";
import { headerValue } from "../http-response.ts";
import { areTwoOperations, bodyPair, isAcpConflict, isAcpError, isAcpReplay, isAcpReuse } from "./acp-findings.ts";
import { ACP_KEYS } from "./acp-keys.ts";
import {
  calledStep,
  endStep,
  lookStep,
  mustCase,
  openStep,
  releaseStep,
  sendStep,
  settleStep,
  shouldCase,
  twiceSteps,
} from "./define.ts";

const DAY_S = 86_400;
/** An HTTP date has whole seconds. */
const ROUNDING_S = 2;
const COPIES = 10;

/** What a request gets while the first one with its key still runs. */
const whileRunning = (wish?: OriginBehaviour): ConformanceCase["script"] => [
  openStep("first"),
  calledStep,
  openStep("again", wish),
  lookStep("again"),
  releaseStep,
  endStep("first"),
  endStep("again"),
];
const shared = { profile: "6.4", origin: [{ hold: "head" }] } as const;

const IN_FLIGHT: readonly ConformanceCase[] = [
  mustCase({
    ...shared,
    id: "flight.body",
    says: "A request whose key is in flight gets 409 with the protocol's error.",
    needs: ["origin"],
    script: whileRunning(),
    judge: (seen) => firstVerdict(callCount(seen, 1), isAcpError(seen, "again", 409, "idempotency_in_flight")),
  }),
  shouldCase({
    ...shared,
    id: "flight.retry-after",
    says: "That answer has Retry-After.",
    needs: ["origin"],
    script: whileRunning(),
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
    script: whileRunning({ body: "other" }),
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
    judge: isAcpReplay,
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
    judge: isAcpReplay,
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
    judge: (seen) =>
      firstVerdict(replySucceeds(seen, "first", "the request"), () => {
        const seconds = seen.policy?.retentionSeconds ?? null;
        if (seconds === null) return { skip: "the server does not say how long it keeps answers" };
        return seconds + ROUNDING_S < DAY_S ? `answers are kept for ${seconds} s` : null;
      }),
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
    script: [{ do: "burst", as: "copy", times: COPIES }],
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), () => {
        const names = Array.from({ length: COPIES }, (_, at) => `copy.${at}`);
        const [first, ...others] = names.filter((name) => isSuccess(seen, name));
        if (first === undefined) return "none succeeded";
        const odd = names.find((name) => !isSuccess(seen, name) && statusOf(seen, name) !== 409);
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
    script: [openStep("first"), calledStep, { do: "leave", as: "first" }, releaseStep, settleStep("again")],
    judge: (seen) => firstVerdict(replySucceeds(seen, "again", "the next try"), callCount(seen, 1)),
  }),
];
