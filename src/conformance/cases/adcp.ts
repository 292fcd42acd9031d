// The Ad Context Protocol's rules about idempotency, over MCP: docs/building/by-layer/L1/security.mdx, Idempotency (rules 1 to 10, Payload equivalence), and
// docs/building/operating/transport-errors.mdx. The tool is `create_media_buy`; keys are among its arguments.

import type { ConformanceCase } from "../case.ts";
import { callCount, firstVerdict } from "../findings.ts";
import { mustCase, sendStep } from "./define.ts";
import { callText, type JsonMembers, messageIn, rpcSending, valueIn } from "./rpc-findings.ts";
import {
  BUY_BUDGET,
  BUY_TOOL,
  buyAgain,
  buySending,
  contentMember,
  contentOf,
  FIRST_CONTEXT,
  firstBuy,
  hasMediaBuy,
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
    id: "caps.declared",
    says: "get_adcp_capabilities declares how long a key is replayed: an hour to seven days.",
    profile: "rule 7",
    script: [sendStep("first", { ...rpcSending(callText(7, "get_adcp_capabilities", {})), key: null })],
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
      firstVerdict(hasMediaBuy(seen, "first", 7, "mb-1"), () =>
        contentMember(seen, "first", "replayed") === true ? "the first answer is marked" : null,
      ),
  }),
  mustCase({
    ...twoBuys,
    id: "replay.payload",
    says: "An equal request gets the stored payload, and is not processed.",
    profile: "rule 4",
    script: [firstBuy, buyAgain({ context: FIRST_CONTEXT })],
    judge: isAdcpReplay,
  }),
  mustCase({
    ...twoBuys,
    id: "replay.replayed",
    says: "A replay says replayed: true.",
    profile: "rule 4",
    script: [firstBuy, buyAgain({ context: FIRST_CONTEXT })],
    judge: (seen) =>
      firstVerdict(hasMediaBuy(seen, "again", "next", "mb-1"), () =>
        contentMember(seen, "again", "replayed") === true ? null : "the replay is not marked",
      ),
  }),
  mustCase({
    ...twoBuys,
    id: "replay.context",
    says: "A replay has the context of its own request.",
    profile: "rule 4",
    script: [firstBuy, buyAgain({ context: { trace: "second" } })],
    judge: (seen) =>
      firstVerdict(hasMediaBuy(seen, "again", "next", "mb-1"), () => {
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
      sendStep("first", buySending(7, pushed("one", "one"))),
      sendStep("again", buySending("next", { ...pushed("two", "two"), context: { trace: "second" } })),
    ],
    judge: isAdcpReplay,
  }),
  mustCase({
    ...twoBuys,
    id: "included",
    says: "ext makes another request.",
    profile: "Payload equivalence",
    script: [firstBuy, buyAgain({ ext: { x: 1 } })],
    judge: isAdcpConflict,
  }),
  mustCase({
    ...twoBuys,
    id: "conflict.code",
    says: "Another payload under the key gets IDEMPOTENCY_CONFLICT, and is not processed.",
    profile: "rule 5",
    script: [firstBuy, buyAgain({ budget: 5 })],
    judge: isAdcpConflict,
  }),
  mustCase({
    ...twoBuys,
    id: "conflict.no-leak",
    says: "That error says nothing of the stored payload.",
    profile: "IDEMPOTENCY_CONFLICT response shape",
    script: [firstBuy, buyAgain({ budget: 5 })],
    judge: (seen) =>
      firstVerdict(isAdcpError(seen, "again", "next", ["IDEMPOTENCY_CONFLICT"]), () => {
        const text = JSON.stringify(messageIn(seen, "again"));
        return text.includes(String(BUY_BUDGET)) || text.includes("mb-1")
          ? "the error repeats the stored payload"
          : null;
      }),
  }),
  mustCase({
    ...twoBuys,
    id: "conflict.tool",
    says: "The same key on another tool is a conflict.",
    profile: "Idempotency",
    script: [firstBuy, buyAgain({}, "update_media_buy")],
    judge: isAdcpConflict,
  }),
  mustCase({
    ...twoBuys,
    id: "key.missing",
    says: "A change without a key gets INVALID_REQUEST, and is not processed.",
    profile: "rule 1",
    script: [
      sendStep("again", { ...rpcSending(callText("next", BUY_TOOL, { account: { account_id: "one" } })), key: null }),
    ],
    judge: (seen) => firstVerdict(callCount(seen, 0), isAdcpError(seen, "again", "next", ["INVALID_REQUEST"])),
  }),
  mustCase({
    ...twoBuys,
    id: "key.pattern",
    says: "So does one whose key is too short.",
    profile: "rule 1",
    script: [buyAgain({ idempotency_key: "too-short" })],
    judge: (seen) => firstVerdict(callCount(seen, 0), isAdcpError(seen, "again", "next", ["INVALID_REQUEST"])),
  }),
  mustCase({
    ...twoBuys,
    id: "key.read-optional",
    says: "A read without a key passes each time.",
    profile: "Idempotency",
    script: ["first", "again"].map((as) => sendStep(as, { ...rpcSending(callText(7, "get_products", {})), key: null })),
    judge: (seen) =>
      firstVerdict(callCount(seen, 2), hasMediaBuy(seen, "first", 7, "mb-1"), hasMediaBuy(seen, "again", 7, "mb-2")),
  }),
  ...ADCP_OUTCOMES,
];

/** What may differ between two tries: a token, and a credential of the address to which answers are sent. */
function pushed(token: string, credentials: string): JsonMembers {
  const authentication = { schemes: ["Bearer"], credentials };
  return { governance_context: token, push_notification_config: { url: "https://buyer.example/", authentication } };
}
