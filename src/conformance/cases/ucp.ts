// The Universal Commerce Protocol's rules about idempotency: docs/specification/signatures.md, Replay Protection, and the binding to
// HTTP, shopping/checkout/rest.md. Where they are silent (a key in flight), either answer passes.

import type { ConformanceCase, OriginBehaviour } from "../case.ts";
import {
  areTwoOperations,
  callCount,
  firstVerdict,
  isOneOperation,
  isSame,
  isSuccess,
  keptFor,
  replySucceeds,
} from "../findings.ts";
import { burstStep, COPY_NAMES, cutSteps, mustCase, sendStep, shouldCase, twiceSteps } from "./define.ts";
import { isUcpError, UCP_REPLAYS } from "./commerce-findings.ts";
import { UCP_SIGNATURES } from "./ucp-signatures.ts";

const DAY_S = 86_400;
const body = (text: string): OriginBehaviour => ({ body: { text } });

export const UCP: readonly ConformanceCase[] = [
  mustCase({
    id: "bytes.equal",
    says: "The same bytes under other headers are the same request: the cached answer, and one operation.",
    profile: UCP_REPLAYS,
    script: [sendStep("first"), sendStep("again", { headers: [["Request-Id", "another"]] })],
    judge: isOneOperation,
  }),
  mustCase({
    id: "bytes.other",
    says: "Other bytes, though they are the same JSON, get 409, and are not processed.",
    profile: UCP_REPLAYS,
    needs: ["origin"],
    script: [sendStep("first", body('{"a":1,"b":2}')), sendStep("again", body('{"b":2,"a":1}'))],
    judge: (seen) =>
      firstVerdict(
        replySucceeds(seen, "first", "the first request"),
        callCount(seen, 1),
        isUcpError(seen, "again", 409),
      ),
  }),
  mustCase({
    id: "body.shape",
    says: "That error has the members code and content.",
    profile: "error responses",
    needs: ["other-body"],
    script: [sendStep("first"), sendStep("again", { body: "other" })],
    judge: (seen) => firstVerdict(isUcpError(seen, "again", 409)),
  }),
  mustCase({
    id: "key.required",
    says: "A change without a key gets 400 in the same form, and is not processed.",
    profile: "checkout/rest",
    script: [sendStep("first", { key: null })],
    judge: (seen) => firstVerdict(isUcpError(seen, "first", 400), callCount(seen, 0)),
  }),
  mustCase({
    id: "scope.operation",
    says: "The same key for another type of operation is another operation.",
    profile: UCP_REPLAYS,
    needs: ["other-path"],
    script: [sendStep("first"), sendStep("again", { path: "other" })],
    judge: areTwoOperations,
  }),
  mustCase({
    id: "scope.client",
    says: "The same key of another client is another operation.",
    profile: UCP_REPLAYS,
    needs: ["other-caller"],
    script: [sendStep("first"), sendStep("again", { caller: "other" })],
    judge: areTwoOperations,
  }),
  mustCase({
    id: "replay.error",
    says: "An answer that is an error is cached, too.",
    profile: UCP_REPLAYS,
    needs: ["origin"],
    origin: [{ status: 422, pieces: ['{"code":"invalid","content":"no"}'] }, {}],
    script: twiceSteps,
    judge: (seen) => firstVerdict(isSame(seen, "again", "first", "the repeated request"), callCount(seen, 1)),
  }),
  mustCase({
    id: "life.24h",
    says: "An answer is kept for 24 hours at least, as far as the server says how long.",
    profile: UCP_REPLAYS,
    script: [sendStep("first")],
    judge: (seen) => keptFor(seen, DAY_S),
  }),
  shouldCase({
    id: "life.48h",
    says: "Better for 48 hours.",
    profile: UCP_REPLAYS,
    script: [sendStep("first")],
    judge: (seen) => keptFor(seen, 2 * DAY_S),
  }),
  mustCase({
    id: "burst.ten",
    says: "Of ten equal requests at once one is processed.",
    profile: UCP_REPLAYS,
    script: [burstStep],
    judge: (seen) =>
      firstVerdict(callCount(seen, 1), () => {
        const [one, ...others] = COPY_NAMES.filter((name) => isSuccess(seen, name));
        if (one === undefined) return "none succeeded";
        return others.map((name) => isSame(seen, name, one, "one")()).find((found) => found !== null) ?? null;
      }),
  }),
  mustCase({
    id: "cut.complete",
    says: "A client whose line breaks before the answer gets it with the same key, and nothing is processed twice.",
    profile: UCP_REPLAYS,
    needs: ["origin"],
    origin: [{ hold: "head" }],
    script: cutSteps,
    judge: (seen) => firstVerdict(replySucceeds(seen, "again", "the next try"), callCount(seen, 1)),
  }),
  ...UCP_SIGNATURES,
];
