// The presets: settings that a protocol asks for, each with the rule that asks for it, as data. Where a protocol wants a fresh attempt after a lost call, its
// preset leaves out `unknown`: that is a decision about money, and stays with whoever runs the API.

/** A setting as it would be written, and the rule of the protocol behind it. */
export interface PresetLine {
  readonly value: unknown;
  readonly rule: string;
}

export interface ProtocolPreset {
  /** As messages name the protocol. */
  readonly protocol: string;
  readonly settings: Readonly<Record<string, PresetLine>>;
  /** What is added to the scope in force. */
  readonly scope: readonly string[];
  readonly scopeRule: string;
}

/** What ACP says of keys and records, over HTTP and over MCP. */
const ACP_KEYS: ProtocolPreset["settings"] = {
  key_format: { value: { max: 255 }, rule: "6.1" },
  retention: { value: "24h", rule: "6.6" },
  remember: { value: "none", rule: "6.6" },
  after_refusal: { value: "any", rule: "6.5" },
  duplicate: { value: "reject", rule: "6.4" },
};

/** Agentic Commerce Protocol, rfcs/rfc.agentic_checkout.md, section 6; rfcs/rfc.delegate_payment.md, section 5, has the same rules, but for a sentence. */
const ACP: ProtocolPreset = {
  protocol: "ACP",
  scope: ["path"],
  scopeRule: "6.1",
  settings: {
    ...ACP_KEYS,
    methods: { value: ["POST"], rule: "6.1" },
    key: { value: "required", rule: "6.1" },
    fingerprint: { value: { body: "json" }, rule: "6.2" },
    problems: { value: "acp", rule: "6.1, 6.4" },
    refused: { value: ["5xx", 425, 429], rule: "6.5" },
    ambiguous: { value: [408], rule: "6.5" },
  },
};

/**
 * Model Context Protocol, revisions 2025-11-25 and 2026-07-28: what its clients need to call a tool again. The protocol has no keys; its rules about responses, sessions,
 * errors and questions of the server are named by their pages.
 */
const MCP: ProtocolPreset = {
  protocol: "MCP",
  scope: [],
  scopeRule: "",
  settings: {
    jsonrpc: { value: true, rule: "basic, responses" },
    problems: { value: "jsonrpc", rule: "basic, responses" },
    refused: { value: ["4xx", 503, 521, 523, 525, 526, 530], rule: "basic/transports, session management" },
    ambiguous: { value: [408, 500, 502, 504, 520, 522, 524], rule: "basic/transports, session management" },
    verdicts: {
      value: [
        {
          at: "/error/code",
          equals: [-32_700, -32_600, -32_601, -32_602, -32_020, -32_021, -32_022],
          is: "refused",
        },
        { at: "/result/resultType", equals: "input_required", is: "refused" },
      ],
      rule: "basic, responses; patterns/mrtr",
    },
    after_refusal: { value: "any", rule: "patterns/mrtr" },
    duplicate: { value: "wait", rule: "basic/transports" },
    unknown: { value: "hold", rule: "server/tools" },
    retention: { value: "24h", rule: "server/tools" },
  },
};

/** Statuses that mean that an API has not acted, and that it may have. */
const UNACTED = ["4xx", "5xx"];
const SURE = { refused: [401, 403, 424, 425, 429, 503], ambiguous: [408, 500, 502, 504, 520, 522, 524] };

/** Tools of both bindings to MCP that change a checkout or an order. */
const CHECKOUT_TOOLS = ["create_*", "update_*", "complete_*", "cancel_*"];
const CHECKOUT_SCOPE = ["json:/params/name", "json:/params/arguments/id"];
/** About the request, not of it: the key, who sends it. */
const WITHOUT_META = { body: "json", except: ["/params/arguments/meta"] };

/** The same over MCP, docs/mcp-binding.md: a key is the tool's and the session's, and may be left out. */
const ACP_MCP: ProtocolPreset = {
  protocol: "ACP",
  scope: CHECKOUT_SCOPE,
  scopeRule: "6.1",
  settings: {
    ...ACP_KEYS,
    jsonrpc: { value: { tools: CHECKOUT_TOOLS, optional: ["*"] }, rule: "MCP binding, meta" },
    fingerprint: { value: WITHOUT_META, rule: "6.2" },
    problems: { value: "acp-mcp", rule: "6.1, 6.4" },
    refused: { value: UNACTED, rule: "6.5" },
    ambiguous: { value: [], rule: "6.5" },
    verdicts: {
      value: [{ at: "/error/data/type", equals: ["processing_error", "service_unavailable"], is: "refused" }],
      rule: "6.5",
    },
  },
};

/** The same of UCP. A key has 128 bits or more: 22 characters of base64url. */
const UCP_KEYS: ProtocolPreset["settings"] = {
  key_format: { value: { min: 22 }, rule: "Replay Protection" },
  retention: { value: "48h", rule: "Replay Protection" },
  remember: { value: "none", rule: "Replay Protection" },
  after_refusal: { value: "same", rule: "Replay Protection" },
  duplicate: { value: "reject", rule: "Replay Protection" },
};

/** Universal Commerce Protocol, docs/specification/signatures.md, Replay Protection, and checkout/rest.md. */
const UCP: ProtocolPreset = {
  protocol: "UCP",
  scope: ["path"],
  scopeRule: "Replay Protection",
  settings: {
    ...UCP_KEYS,
    methods: { value: ["POST", "PUT", "PATCH", "DELETE"], rule: "Replay Protection" },
    key: { value: "required", rule: "checkout/rest" },
    fingerprint: { value: { body: "bytes" }, rule: "Replay Protection" },
    problems: { value: "ucp", rule: "error responses" },
    refused: { value: SURE.refused, rule: "Replay Protection" },
    ambiguous: { value: SURE.ambiguous, rule: "Replay Protection" },
  },
};

/** The same over MCP, checkout/mcp.md. No client can send the same bytes there, because ids are new each time. */
const UCP_MCP: ProtocolPreset = {
  protocol: "UCP",
  scope: CHECKOUT_SCOPE,
  scopeRule: "Replay Protection",
  settings: {
    ...UCP_KEYS,
    jsonrpc: { value: { tools: CHECKOUT_TOOLS, optional: CHECKOUT_TOOLS.slice(0, 2) }, rule: "checkout/mcp" },
    fingerprint: { value: WITHOUT_META, rule: "Replay Protection" },
    problems: { value: "ucp-mcp", rule: "checkout/mcp" },
    refused: { value: UNACTED, rule: "checkout/mcp" },
    ambiguous: { value: [], rule: "checkout/mcp" },
    verdicts: { value: [{ at: "/error", is: "refused" }], rule: "checkout/mcp" },
  },
};

/** Tools of AdCP that change nothing: their key may be left out. */
const READING_TOOLS = [
  "get_*",
  "list_*",
  "search_*",
  "preview_*",
  "validate_*",
  "verify_*",
  "tasks_*",
  "check_governance",
  "si_get_offering",
  "si_terminate_session",
  "comply_test_controller",
];

/**
 * Ad Context Protocol over MCP, docs/building/by-layer/L1/security.mdx: Idempotency with its rules 1 to 10, and Payload equivalence, whose list of excluded fields is
 * closed. Its errors: docs/building/operating/transport-errors.mdx.
 */
const ADCP: ProtocolPreset = {
  protocol: "AdCP",
  scope: ["json:/params/arguments/account"],
  scopeRule: "Idempotency",
  settings: {
    jsonrpc: {
      value: {
        optional: READING_TOOLS,
      },
      rule: "Idempotency",
    },
    key_format: { value: { min: 16, max: 255, pattern: "^[A-Za-z0-9_.:-]+$" }, rule: "rule 1" },
    fingerprint: {
      value: {
        body: "json",
        except: ["context", "governance_context", "push_notification_config/authentication/credentials"].map(
          (name) => `/params/arguments/${name}`,
        ),
      },
      rule: "Payload equivalence",
    },
    problems: { value: "adcp", rule: "transport errors" },
    replay_set: {
      value: [
        { at: "/result/structuredContent/replayed", value: true },
        { at: "/result/structuredContent/context", from: "/params/arguments/context" },
      ],
      rule: "rule 4",
    },
    retention: { value: "24h", rule: "rule 7" },
    remember: { value: "7d", rule: "rule 6" },
    refused: { value: UNACTED, rule: "rule 3" },
    ambiguous: { value: [], rule: "rule 3" },
    verdicts: {
      value: [
        { at: "/error", is: "refused" },
        { at: "/result/isError", equals: true, is: "refused" },
        { at: "/result/structuredContent/adcp_error", is: "refused" },
        {
          at: "/result/structuredContent/status",
          equals: ["failed", "canceled", "input-required", "auth-required"],
          is: "refused",
        },
      ],
      rule: "rule 3",
    },
    after_refusal: { value: "any", rule: "rule 3" },
    duplicate: { value: "reject", rule: "rule 9" },
  },
};

/** By the names that `preset` takes. A name with a date stays as it is; one without may follow the protocol, but for scope, key and fingerprint. */
export const PRESETS: Readonly<Record<string, ProtocolPreset>> = {
  acp: ACP,
  "acp@2026-04-17": ACP,
  "acp-mcp": ACP_MCP,
  ucp: UCP,
  "ucp-mcp": UCP_MCP,
  adcp: ADCP,
  mcp: MCP,
};

/** No preset, also where `IDEMPOTENCY` has one. */
export const NO_PRESET = "none";

export const PRESET_NAMES = [NO_PRESET, "acp", "acp@2026-04-17", "acp-mcp", "ucp", "ucp-mcp", "adcp", "mcp"] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** The preset of a name that may be wrong. */
export function presetNamed(name: unknown): ProtocolPreset | null {
  return typeof name === "string" && Object.hasOwn(PRESETS, name) ? (PRESETS[name] ?? null) : null;
}
