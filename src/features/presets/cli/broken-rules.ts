// What `check` says of a written setting that breaks a rule of the protocol whose preset the route has: each rule with its number.

import type { FingerprintRule, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import { scopeNames } from "../../../kernel/config/scope-part.ts";
import { HOUR_MS } from "../../../kernel/config/units.ts";
import { judgeAttempt } from "../../../kernel/record/verdict.ts";
import { type PresetName, presetNamed } from "../settings/presets.ts";

interface ProtocolRule {
  readonly setting: string;
  readonly rule: string;
  readonly isBroken: (route: Route) => boolean;
  readonly what: string;
}

export function judgedStatus({ rules }: Route, status: number): string {
  return judgeAttempt({ kind: "answered", status }, rules.lists);
}

export function brokenRules(route: Route): readonly ConfigProblem[] {
  const preset = presetNamed(route.preset);
  if (preset === null) return [];
  return rulesOf(route.preset)
    .filter(({ isBroken }) => isBroken(route))
    .map(({ setting, rule, what }) => ({
      path: `${route.name}.${setting}`,
      message: `breaks ${preset.protocol} ${rule}, which preset = "${route.preset}" stands for: ${what}`,
    }));
}

function takesMethods(rule: string, methods: readonly string[]): ProtocolRule {
  const isBroken = (route: Route): boolean => methods.some((method) => !route.methods.includes(method));
  return { setting: "methods", rule, isBroken, what: `every ${methods.join(", ")} needs a key` };
}

function needsKey(rule: string): ProtocolRule {
  return {
    setting: "key",
    rule,
    isBroken: ({ key }) => key === "optional",
    what: "a request without a key is rejected",
  };
}

function makesNoKey(rule: string): ProtocolRule {
  const what = "a request without a key is rejected, and gets none from its content";
  return { setting: "key_from", rule, isBroken: ({ contentKey }) => contentKey !== null, what };
}

/** `tools`: some that change something. */
function needsKeyFor(rule: string, tools: readonly string[], what: string): ProtocolRule {
  const isBroken = ({ jsonrpc }: Route): boolean =>
    jsonrpc !== null && jsonrpc.optional.map(ofPattern).some((optional) => tools.some((tool) => optional.test(tool)));
  return { setting: "jsonrpc", rule, isBroken, what };
}

/** `*` is any text. */
function ofPattern(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll(/\W/g, (sign) => (sign === "*" ? ".*" : `\\${sign}`))}$`, "s");
}

function rejectsDuplicates(rule: string): ProtocolRule {
  return {
    setting: "duplicate",
    rule,
    isBroken: ({ rules }) => rules.duplicate !== "reject",
    what: "a request whose key is in flight gets 409 at once",
  };
}

/** `examples`: keys that the protocol allows. */
function takesKeys(rule: string, examples: readonly string[], what: string): ProtocolRule {
  const isBroken = ({ keyFormat: { min, max, pattern } }: Route): boolean =>
    examples.some(
      (key) =>
        key.length < min || key.length > max || (pattern !== null && !new RegExp(`^(?:${pattern})$`, "u").test(key)),
    );
  return { setting: "key_format", rule, isBroken, what };
}

function hasScope(rule: string, names: readonly string[], what: string): ProtocolRule {
  const isBroken = ({ scope }: Route): boolean => {
    const own = scopeNames(scope);
    return names.some((name) => !own.includes(name));
  };
  return { setting: "scope", rule, isBroken, what: `${what}: add ${names.map((name) => `"${name}"`).join(", ")}` };
}

function compares(rule: string, isSame: (rule: FingerprintRule) => boolean, what: string): ProtocolRule {
  return { setting: "fingerprint", rule, isBroken: ({ fingerprint }) => !isSame(fingerprint), what };
}

function hasShape(rule: string, shape: string): ProtocolRule {
  const isBroken = ({ problemShape }: Route): boolean => problemShape?.name !== shape;
  return { setting: "problems", rule, isBroken, what: "errors have the protocol's form" };
}

function keepsNo5xx(rule: string): ProtocolRule {
  return { setting: "refused", rule, isBroken: keeps5xx, what: "a 5xx is not kept, and its retry is a fresh request" };
}

function keeps5xx(route: Route): boolean {
  return [500, 501, 503, 599].some((status) => judgedStatus(route, status) !== "refused");
}

function livesFor(rule: string, hours: number, what: string): ProtocolRule {
  const isBroken = ({ rules }: Route): boolean => rules.policy.retentionMs < hours * HOUR_MS;
  return { setting: "retention", rule, isBroken, what };
}

function forgets(rule: string): ProtocolRule {
  return { setting: "remember", rule, isBroken: remembers, what: "an expired key is a new one, without an error" };
}

function remembers({ rules }: Route): boolean {
  return rules.policy.rememberMs !== undefined;
}

const OPAQUE_KEYS = ["k", "#".repeat(255)];
const UCP_KEYS = ["550e8400-e29b-41d4-a716-446655440000", "Zq3_v-".repeat(4)];
const ADCP_KEYS = ["k".repeat(16), "Z9_.:".repeat(51)];

const A_DAY = "keys live for 24 hours or more";

const ACP: readonly ProtocolRule[] = [
  takesMethods("6.1", ["POST"]),
  needsKey("6.1"),
  makesNoKey("6.1"),
  takesKeys("6.1", OPAQUE_KEYS, "a key is an opaque text of up to 255 characters"),
  hasScope("6.1", ["path"], "the same key on another path is another key"),
  compares(
    "6.2",
    ({ body, selection, headers }) => body === "json" && selection === null && headers.length === 0,
    "requests are equal if their JSON bodies are, whatever their headers",
  ),
  hasShape("6.1 and 6.4", "acp"),
  rejectsDuplicates("6.4"),
  keepsNo5xx("6.5"),
  livesFor("6.6", 24, A_DAY),
  forgets("6.6"),
];

const OPERATION = ["json:/params/name", "json:/params/arguments/id"];
const ANOTHER_CHECKOUT = "the same key on another tool or checkout is another key";

const ACP_MCP: readonly ProtocolRule[] = [
  takesKeys("6.1", OPAQUE_KEYS, "a key is an opaque text of up to 255 characters"),
  hasScope("6.1", OPERATION, ANOTHER_CHECKOUT),
  hasShape("6.1 and 6.4", "acp-mcp"),
  rejectsDuplicates("6.4"),
  keepsNo5xx("6.5"),
  livesFor("6.6", 24, A_DAY),
  forgets("6.6"),
];

const REPLAYS = "Replay Protection";

const UCP: readonly ProtocolRule[] = [
  takesMethods(REPLAYS, ["POST", "PUT", "PATCH", "DELETE"]),
  needsKey("checkout/rest"),
  makesNoKey("checkout/rest"),
  takesKeys(REPLAYS, UCP_KEYS, "a key has 22 characters or more, or is a UUID"),
  hasScope(REPLAYS, ["path"], "the same key for another type of operation is another key"),
  compares(
    REPLAYS,
    ({ body, selection, headers }) => body === "bytes" && selection === null && headers.length === 0,
    "requests are equal if the bytes of their bodies are",
  ),
  hasShape("error responses", "ucp"),
  livesFor(REPLAYS, 24, A_DAY),
];

const UCP_MCP: readonly ProtocolRule[] = [
  needsKey("checkout/mcp"),
  needsKeyFor("checkout/mcp", ["complete_checkout", "cancel_checkout"], "complete_* and cancel_* need a key"),
  takesKeys(REPLAYS, UCP_KEYS, "a key has 22 characters or more, or is a UUID"),
  hasScope(REPLAYS, OPERATION, ANOTHER_CHECKOUT),
  hasShape("checkout/mcp", "ucp-mcp"),
  livesFor(REPLAYS, 24, A_DAY),
];

/** What AdCP leaves out of the comparison: its closed list, the places of the key, and what JSON-RPC leaves out. */
const ADCP_UNCOMPARED = ["context", "governance_context", "push_notification_config/authentication/credentials"].map(
  (name) => `/params/arguments/${name}`,
);

const ADCP: readonly ProtocolRule[] = [
  needsKey("Idempotency"),
  needsKeyFor(
    "Idempotency",
    ["create_media_buy", "update_media_buy", "sync_creatives", "activate_signal"],
    "every tool that changes something needs a key",
  ),
  takesKeys("rule 1", ADCP_KEYS, "a key has 16 to 255 characters"),
  hasScope("Idempotency", ["json:/params/arguments/account"], "the same key for another account is another key"),
  compares(
    "Payload equivalence",
    ({ selection }) =>
      selection?.kind === "except" &&
      ADCP_UNCOMPARED.every((pointer) => selection.pointers.includes(pointer)) &&
      selection.pointers.every((pointer) => !pointer.startsWith("/params/arguments") || isExcluded(pointer)),
    "the list of what does not count is closed",
  ),
  hasShape("transport errors", "adcp"),
  keepsNo5xx("rule 3"),
  {
    setting: "replay_set",
    rule: "rule 4",
    isBroken: ({ jsonrpc }) =>
      jsonrpc?.replaySet.some(({ at }) => at === "/result/structuredContent/replayed") !== true,
    what: "a replay says replayed: true",
  },
  {
    setting: "retention",
    rule: "rule 7",
    isBroken: ({ rules: { policy } }) => policy.retentionMs < HOUR_MS || policy.retentionMs > 7 * 24 * HOUR_MS,
    what: "keys live for an hour to seven days, as get_adcp_capabilities declares",
  },
];

function isExcluded(pointer: string): boolean {
  return ADCP_UNCOMPARED.includes(pointer) || /\/idempotency[_-]?key$/i.test(pointer);
}

/** MCP has no keys, so no rule about them. Its clients read an error only as a response of JSON-RPC, and wait for one otherwise. */
const MCP: readonly ProtocolRule[] = [
  {
    setting: "problems",
    rule: "basic, responses",
    isBroken: ({ problemShape }) => problemShape === null || ["acp", "ucp"].includes(problemShape.name),
    what: "errors are responses of JSON-RPC, for which the official clients wait",
  },
];

const RULES: Readonly<Record<PresetName, readonly ProtocolRule[]>> = {
  none: [],
  acp: ACP,
  "acp@2026-04-17": ACP,
  "acp-mcp": ACP_MCP,
  ucp: UCP,
  "ucp-mcp": UCP_MCP,
  adcp: ADCP,
  mcp: MCP,
};

function rulesOf(name: string | null): readonly ProtocolRule[] {
  return Object.entries(RULES).find(([known]) => known === name)?.[1] ?? [];
}
