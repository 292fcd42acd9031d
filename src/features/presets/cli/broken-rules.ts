// What `check` says of a written setting that breaks a rule of the protocol whose preset the route has: each rule with its number.

import type { ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import { HOUR_MS } from "../../../kernel/config/units.ts";
import {
  brokenBy,
  type ByPreset,
  comparesBodies,
  comparesAllBut,
  rulesOfPreset,
  failsClosed,
  forgetsKeys,
  hasScope,
  hasShape,
  keepsClientErrors,
  keepsNo,
  keepsNo5xx,
  livesFor,
  makesNoKey,
  needsKey,
  readsKeyFrom,
  rejectsDuplicates,
  remembersKeys,
  takesKeys,
  takesMethods,
  takesOthersAfterRefusal,
  type ProtocolRule,
} from "./protocol-rules.ts";

export function brokenRules(route: Route): readonly ConfigProblem[] {
  return rulesOfPreset(RULES, route.preset)
    .filter(({ isBroken }) => isBroken(route))
    .map((rule) => brokenBy(route, rule));
}

const OPAQUE_KEYS = ["k", "#".repeat(255)];
const UCP_KEYS = ["550e8400-e29b-41d4-a716-446655440000", "Zq3_v-".repeat(4)];
const ADCP_KEYS = ["k".repeat(16), "Z9_.:".repeat(51)];

const A_DAY = "keys live for 24 hours or more";

const ACP: readonly ProtocolRule[] = [
  takesMethods("6.1", ["POST"]),
  needsKey("6.1"),
  makesNoKey("6.1"),
  readsKeyFrom("6.1", "header:idempotency-key"),
  takesKeys("6.1", OPAQUE_KEYS, "a key is an opaque text of up to 255 characters"),
  ...hasScope("6.1", ["path"], "the same key on another path is another key"),
  comparesBodies(
    "6.2",
    ({ body, selection, headers }) => body === "json" && selection === null && headers.length === 0,
    "requests are equal if their JSON bodies are, whatever their headers",
  ),
  keepsClientErrors("6.3"),
  hasShape("6.1 and 6.4", "acp"),
  rejectsDuplicates("6.4"),
  keepsNo5xx("6.5"),
  takesOthersAfterRefusal("6.5", true),
  livesFor("6.6", 24, A_DAY),
  forgetsKeys("6.6"),
];

const OPERATION = ["json:/params/name", "json:/params/arguments/id"];
const ANOTHER_CHECKOUT = "the same key on another tool or checkout is another key";
const WITHOUT_META = "calls are equal if their arguments are, whatever is in meta";

const ACP_MCP: readonly ProtocolRule[] = [
  readsKeyFrom("MCP binding, meta", "json:/params/arguments/meta/idempotency_key"),
  takesKeys("6.1", OPAQUE_KEYS, "a key is an opaque text of up to 255 characters"),
  ...hasScope("6.1", OPERATION, ANOTHER_CHECKOUT),
  comparesAllBut("6.2", ["meta"], WITHOUT_META),
  hasShape("6.1 and 6.4", "acp-mcp"),
  rejectsDuplicates("6.4"),
  keepsNo5xx("6.5"),
  keepsNo("6.5", [
    ["/error/data/type", "processing_error"],
    ["/error/data/type", "service_unavailable"],
  ]),
  takesOthersAfterRefusal("6.5", true),
  livesFor("6.6", 24, A_DAY),
  forgetsKeys("6.6"),
];

const REPLAYS = "Replay Protection";

const UCP_BOTH: readonly ProtocolRule[] = [
  takesKeys(REPLAYS, UCP_KEYS, "a key has 22 characters or more, or is a UUID", ["k".repeat(21)]),
  takesOthersAfterRefusal(REPLAYS, false),
  failsClosed(REPLAYS),
  livesFor(REPLAYS, 24, A_DAY),
];

const UCP: readonly ProtocolRule[] = [
  ...UCP_BOTH,
  takesMethods(REPLAYS, ["POST", "PUT", "PATCH", "DELETE"]),
  needsKey("checkout/rest"),
  makesNoKey("checkout/rest"),
  readsKeyFrom("checkout/rest", "header:idempotency-key"),
  ...hasScope(REPLAYS, ["path"], "the same key for another type of operation is another key"),
  comparesBodies(
    REPLAYS,
    ({ body, selection, headers }) => body === "bytes" && selection === null && headers.length === 0,
    "requests are equal if the bytes of their bodies are",
  ),
  keepsClientErrors(REPLAYS),
  hasShape("error responses", "ucp"),
];

const UCP_MCP: readonly ProtocolRule[] = [
  ...UCP_BOTH,
  needsKey("checkout/mcp"),
  readsKeyFrom("checkout/mcp", "json:/params/arguments/meta/idempotency-key"),
  ...hasScope(REPLAYS, OPERATION, ANOTHER_CHECKOUT),
  comparesAllBut(REPLAYS, ["meta"], WITHOUT_META),
  keepsNo("checkout/mcp", [["/error"]]),
  hasShape("checkout/mcp", "ucp-mcp"),
];

const ADCP: readonly ProtocolRule[] = [
  needsKey("Idempotency"),
  readsKeyFrom("Idempotency", "json:/params/arguments/idempotency_key"),
  takesKeys("rule 1", ADCP_KEYS, "a key has 16 to 255 letters, digits, and _ . : -", ["k".repeat(15), "#".repeat(16)]),
  ...hasScope(
    "Idempotency",
    ["json:/params/arguments/account"],
    "the same key for another account is another key",
    // Of si_send_message.
    ["json:/params/arguments/session_id"],
  ),
  comparesAllBut(
    "Payload equivalence",
    ["context", "governance_context", "push_notification_config/authentication/credentials"],
    "the list of what does not count is closed",
  ),
  hasShape("transport errors", "adcp"),
  keepsNo5xx("rule 3"),
  keepsNo("rule 3", [
    ["/error"],
    ["/result/isError", true],
    ["/result/structuredContent/adcp_error"],
    ...["failed", "canceled", "input-required", "auth-required"].map(
      (status) => ["/result/structuredContent/status", status] as const,
    ),
  ]),
  takesOthersAfterRefusal("rule 3", true),
  {
    setting: "replay_set",
    rule: "rule 4",
    isBroken: ({ jsonrpc }) =>
      jsonrpc?.replaySet.some((set) => set.at === `${ADCP_RESULT}/replayed` && "json" in set && set.json === "true") !==
        true || !jsonrpc.replaySet.some((set) => set.at === `${ADCP_RESULT}/context` && "from" in set),
    what: "a replay says replayed: true, and has the context of its own request",
  },
  {
    setting: "remember",
    rule: "rule 6",
    isBroken: (route) => !remembersKeys(route),
    what: "an expired key is not taken for a new one",
  },
  {
    setting: "retention",
    rule: "rule 7",
    isBroken: ({ rules: { policy } }) => policy.retentionMs < HOUR_MS || policy.retentionMs > 7 * 24 * HOUR_MS,
    what: "keys live for an hour to seven days, as get_adcp_capabilities declares",
  },
];

const ADCP_RESULT = "/result/structuredContent";

/** MCP has no keys, so no rule about them. Its clients read an error only as a response of JSON-RPC, and wait for one otherwise. */
const MCP: readonly ProtocolRule[] = [
  {
    setting: "problems",
    rule: "basic, responses",
    isBroken: ({ problemShape }) => problemShape === null || ["acp", "ucp"].includes(problemShape.name),
    what: "errors are responses of JSON-RPC, for which the official clients wait",
  },
  keepsNo("patterns/mrtr", [["/result/resultType", "input_required"]]),
];

const RULES: ByPreset<ProtocolRule> = {
  none: [],
  acp: ACP,
  "acp@2026-04-17": ACP,
  "acp-mcp": ACP_MCP,
  ucp: UCP,
  "ucp-mcp": UCP_MCP,
  adcp: ADCP,
  mcp: MCP,
};
