// The Universal Commerce Protocol's rules about idempotency over MCP: docs/specification/shopping/checkout/mcp.md, and signatures.md, Replay Protection. The tools are those of a
// checkout; keys are in `meta` among their arguments.

import type { CallBehaviour, CaseObservation, ConformanceCase } from "../case.ts";
import { callCount, type CaseFinding, firstVerdict, oneOf, replySummary, wholeAnswerOf, valueIn } from "../findings.ts";
import { UCP_REPLAYS, ucpErrorFinding } from "./commerce-findings.ts";
import { burstStep, COPY_NAMES, cutSteps, mustCase, sendStep } from "./define.ts";
import { inputKeyCall, messageIn, respondsWith, rpcAnswer } from "./rpc-findings.ts";

const BINDING = "checkout/mcp";

const NO_KEY = { meta: undefined };

const complete = rpcAnswer('"result":{"structuredContent":{"id":"checkout-1","order":"o-1"}}');
const completeAgain = rpcAnswer('"result":{"structuredContent":{"id":"checkout-1","order":"o-2"}}');
const overMcp = { needs: ["origin"], origin: [complete, completeAgain], profile: BINDING } as const;

const hasOrder = (seen: CaseObservation, name: string, id: unknown, order: string) => (): CaseFinding => {
  const found = respondsWith(seen, name, id, "result")();
  if (found !== null) return found;
  return valueIn(messageIn(seen, name), "result", "structuredContent", "order") === order
    ? null
    : `the result has not the order ${order}`;
};

/** An error of the protocol over MCP: its status is the first signal, the number -32000 the second. */
const isRpcError = (seen: CaseObservation, name: string, id: unknown, status: number) => (): CaseFinding => {
  const found = respondsWith(seen, name, id, "error")();
  if (found !== null) return found;
  if (wholeAnswerOf(seen, name)?.status !== status) return `got ${replySummary(seen, name)}, not ${status}`;
  const message = messageIn(seen, name);
  const number = valueIn(message, "error", "code");
  return number === -32_000 ? null : `the error has the number ${String(number)}, not -32000`;
};

/** The first call's origin says no; the next one is processed. */
const notKept = (id: string, says: string, behaviour: CallBehaviour): ConformanceCase =>
  mustCase({
    ...overMcp,
    id,
    says,
    origin: [behaviour, complete],
    script: [sendStep("first", inputKeyCall(7)), sendStep("again", inputKeyCall("next"))],
    judge: (seen) => firstVerdict(callCount(seen, 2), hasOrder(seen, "again", 7, "o-1")),
  });

export const UCP_MCP: readonly ConformanceCase[] = [
  mustCase({
    ...overMcp,
    id: "mcp.id",
    says: "A replay has the id of the call that gets it, whatever else is in meta.",
    script: [
      sendStep("first", inputKeyCall(7)),
      sendStep(
        "again",
        inputKeyCall("next", {
          with: { meta: { "idempotency-key": "{key}", "ucp-agent": { profile: "https://one.example" } } },
        }),
      ),
    ],
    judge: (seen) => firstVerdict(callCount(seen, 1), hasOrder(seen, "again", "next", "o-1")),
  }),
  mustCase({
    ...overMcp,
    id: "mcp.conflict",
    says: "Other arguments under the key get 409 with -32000 under the call's own id, and are not processed.",
    script: [sendStep("first", inputKeyCall(7)), sendStep("again", inputKeyCall("next", { input: "other" }))],
    judge: (seen) => firstVerdict(callCount(seen, 1), isRpcError(seen, "again", "next", 409)),
  }),
  mustCase({
    ...overMcp,
    id: "mcp.conflict-data",
    says: "That error's data has the members code and content.",
    script: [sendStep("first", inputKeyCall(7)), sendStep("again", inputKeyCall("next", { input: "other" }))],
    judge: (seen) =>
      firstVerdict(respondsWith(seen, "again", "next", "error"), () => {
        const data = valueIn(messageIn(seen, "again"), "error", "data");
        return typeof data === "object" && data !== null
          ? ucpErrorFinding({ ...data }, undefined)
          : "the error has no data";
      }),
  }),
  ...["complete_checkout", "cancel_checkout"].map((tool) =>
    mustCase({
      ...overMcp,
      id: `mcp.required-${tool.split("_", 1).join("")}`,
      says: `${tool} without a key is refused, and not processed.`,
      script: [sendStep("again", inputKeyCall("next", { tool: { name: tool }, with: NO_KEY }))],
      judge: (seen) => firstVerdict(callCount(seen, 0), respondsWith(seen, "again", "next", "error")),
    }),
  ),
  mustCase({
    ...overMcp,
    id: "mcp.optional",
    says: "create_checkout passes without a key, each time.",
    script: ["first", "again"].map((as) =>
      sendStep(as, inputKeyCall(7, { tool: { name: "create_checkout" }, with: NO_KEY })),
    ),
    judge: (seen) =>
      firstVerdict(callCount(seen, 2), hasOrder(seen, "first", 7, "o-1"), hasOrder(seen, "again", 7, "o-2")),
  }),
  mustCase({
    ...overMcp,
    id: "mcp.operation",
    says: "The same key for another tool is another operation.",
    profile: UCP_REPLAYS,
    script: [
      sendStep("first", inputKeyCall(7)),
      sendStep("again", inputKeyCall("next", { tool: { name: "cancel_checkout" } })),
    ],
    judge: (seen) => firstVerdict(callCount(seen, 2), hasOrder(seen, "again", 7, "o-2")),
  }),
  notKept(
    "mcp.error-not-kept",
    "An error of the protocol is not kept: the next try is processed.",
    rpcAnswer('"error":{"code":-32000,"message":"Service unavailable","data":{"code":"internal","content":"no"}}'),
  ),
  notKept("mcp.status-not-kept", "So is one that has its HTTP status.", {
    ...rpcAnswer('"error":{"code":-32000,"message":"Service unavailable"}'),
    status: 503,
  }),
  mustCase({
    ...overMcp,
    id: "burst.ten",
    says: "Of ten equal calls at once one is processed.",
    profile: UCP_REPLAYS,
    script: [burstStep],
    judge: (seen) =>
      firstVerdict(
        callCount(seen, 1),
        oneOf(COPY_NAMES, (name) => hasOrder(seen, name, 7, "o-1")),
      ),
  }),
  mustCase({
    ...overMcp,
    id: "cut.complete",
    says: "A client whose line breaks before the response gets it by calling again, and nothing is processed twice.",
    profile: UCP_REPLAYS,
    origin: [{ ...complete, hold: "head" }, completeAgain],
    script: cutSteps,
    judge: (seen) => firstVerdict(callCount(seen, 1), hasOrder(seen, "again", 7, "o-1")),
  }),
];
