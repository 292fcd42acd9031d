// The Ad Context Protocol's rules about idempotency, over MCP: docs/building/by-layer/L1/security.mdx, Idempotency (rules 1 to 10, Payload equivalence), and
// docs/building/operating/transport-errors.mdx. Keys are among the arguments.

import type { ConformanceCase } from "../case.ts";
import { callCount, firstVerdict, valueIn } from "../findings.ts";
import { type JsonMembers, TARGET_TOOLS } from "../tool-call.ts";
import { mustCase, sendStep } from "./define.ts";
import { inputKeyCall, messageIn } from "./rpc-findings.ts";
import {
  buyAgain,
  contentMember,
  contentOf,
  countedBuys,
  FIRST_CONTEXT,
  firstBuy,
  hasBought,
  isAdcpConflict,
  isAdcpError,
  isAdcpReplay,
  twoBuys,
} from "./adcp-buys.ts";
import { ADCP_OUTCOMES } from "./adcp-outcomes.ts";

const HOUR_S = 3600;
const WEEK_S = 604_800;

export const ADCP: readonly ConformanceCase[] = [
  mustCase({
    needs: ["read-tool"],
    id: "caps.declared",
    says: "get_adcp_capabilities declares how long a key is replayed: an hour to seven days.",
    profile: "rule 7",
    script: [sendStep("first", inputKeyCall(7, { tool: "read" }))],
    judge: (seen) =>
      firstVerdict(() => {
        if (seen.calls !== null) return { skip: "behind the server is the suite's origin, which declares nothing" };
        const seconds = valueIn(contentOf(seen, "first"), "adcp", "idempotency", "replay_ttl_seconds");
        if (typeof seconds !== "number") return "it declares no replay_ttl_seconds";
        return seconds >= HOUR_S && seconds <= WEEK_S ? null : `it declares ${seconds} s`;
      }),
  }),
  mustCase({
    ...twoBuys,
    id: "first.unmarked",
    says: "A first answer is not marked as replayed.",
    profile: "rule 4",
    script: [firstBuy],
    judge: (seen) =>
      firstVerdict(hasBought(seen, "first", 7), () =>
        contentMember(seen, "first", "replayed") === true ? "the first answer is marked" : null,
      ),
  }),
  mustCase({
    ...twoBuys,
    id: "replay.payload",
    says: "An equal request gets the stored payload, and is not processed.",
    profile: "rule 4",
    script: [firstBuy, buyAgain({ with: { context: FIRST_CONTEXT } })],
    judge: isAdcpReplay,
  }),
  mustCase({
    ...twoBuys,
    id: "replay.replayed",
    says: "A replay says replayed: true.",
    profile: "rule 4",
    script: [firstBuy, buyAgain({ with: { context: FIRST_CONTEXT } })],
    judge: (seen) =>
      firstVerdict(hasBought(seen, "again", "next"), () =>
        contentMember(seen, "again", "replayed") === true ? null : "the replay is not marked",
      ),
  }),
  mustCase({
    ...twoBuys,
    id: "replay.context",
    says: "A replay has the context of its own request.",
    profile: "rule 4",
    script: [firstBuy, buyAgain({ with: { context: { trace: "second" } } })],
    judge: (seen) =>
      firstVerdict(hasBought(seen, "again", "next"), () => {
        const context = contentMember(seen, "again", "context");
        return JSON.stringify(context) === '{"trace":"second"}' ? null : `the context is ${JSON.stringify(context)}`;
      }),
  }),
  mustCase({
    ...twoBuys,
    id: "excluded",
    says: "context, governance_context and rotated credentials make no other request.",
    profile: "Payload equivalence",
    script: [
      sendStep("first", inputKeyCall(7, { with: pushed("one", "one") })),
      buyAgain({ with: { ...pushed("two", "two"), context: { trace: "second" } } }),
    ],
    judge: isAdcpReplay,
  }),
  mustCase({
    ...twoBuys,
    id: "included",
    says: "ext makes another request.",
    profile: "Payload equivalence",
    script: [firstBuy, buyAgain({ with: { ext: { x: 1 } } })],
    judge: isAdcpConflict,
  }),
  mustCase({
    ...twoBuys,
    needs: ["other-arguments"],
    id: "conflict.code",
    says: "Another payload under the key gets IDEMPOTENCY_CONFLICT, and is not processed.",
    profile: "rule 5",
    script: [firstBuy, buyAgain({ input: "other" })],
    judge: isAdcpConflict,
  }),
  mustCase({
    ...countedBuys,
    id: "conflict.no-leak",
    says: "That error says nothing of the stored payload.",
    profile: "IDEMPOTENCY_CONFLICT response shape",
    script: [firstBuy, buyAgain({ input: "other" })],
    judge: (seen) =>
      firstVerdict(isAdcpError(seen, "again", "next", ["IDEMPOTENCY_CONFLICT"]), () => {
        const text = JSON.stringify(messageIn(seen, "again"));
        return text.includes(String(TARGET_TOOLS.adcp.arguments.budget)) || text.includes("mb-1")
          ? "the error repeats the stored payload"
          : null;
      }),
  }),
  mustCase({
    ...countedBuys,
    id: "conflict.tool",
    says: "The same key on another tool is a conflict.",
    profile: "Idempotency",
    script: [firstBuy, buyAgain({ tool: { name: "update_media_buy" } })],
    judge: isAdcpConflict,
  }),
  mustCase({
    ...twoBuys,
    id: "key.missing",
    says: "A change without a key gets INVALID_REQUEST, and is not processed.",
    profile: "rule 1",
    script: [buyAgain({ with: { idempotency_key: undefined } })],
    judge: (seen) => firstVerdict(callCount(seen, 0), isAdcpError(seen, "again", "next", INVALID_CODES)),
  }),
  mustCase({
    ...twoBuys,
    id: "key.pattern",
    says: "So does one whose key is too short.",
    profile: "rule 1",
    script: [buyAgain({ with: { idempotency_key: "too-short" } })],
    judge: (seen) => firstVerdict(callCount(seen, 0), isAdcpError(seen, "again", "next", INVALID_CODES)),
  }),
  mustCase({
    ...twoBuys,
    needs: ["read-tool"],
    id: "key.read-optional",
    says: "A read without a key passes each time.",
    profile: "Idempotency",
    script: ["first", "again"].map((as) => sendStep(as, inputKeyCall(7, { tool: "read" }))),
    judge: (seen) => firstVerdict(callCount(seen, 2), hasBought(seen, "first", 7), hasBought(seen, "again", 7)),
  }),
  ...ADCP_OUTCOMES,
];

/** What the protocol's own storyboard of idempotency takes. */
const INVALID_CODES = ["INVALID_REQUEST", "VALIDATION_ERROR"];

/** What may differ between two tries: a token, and a credential of the address to which answers are sent. */
function pushed(token: string, credentials: string): JsonMembers {
  // The protocol's schema wants 32 characters.
  const authentication = { schemes: ["Bearer"], credentials: credentials.padEnd(32, "-") };
  return { governance_context: token, push_notification_config: { url: "https://buyer.example/", authentication } };
}
