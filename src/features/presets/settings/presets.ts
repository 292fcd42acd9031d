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

/** Agentic Commerce Protocol, rfcs/rfc.agentic_checkout.md, section 6; rfcs/rfc.delegate_payment.md, section 5, has the same rules. */
const ACP: ProtocolPreset = {
  protocol: "ACP",
  scope: ["path"],
  scopeRule: "6.1",
  settings: {
    methods: { value: ["POST"], rule: "6.1" },
    key: { value: "required", rule: "6.1" },
    key_format: { value: { max: 255 }, rule: "6.1" },
    fingerprint: { value: { body: "json" }, rule: "6.2" },
    problems: { value: "acp", rule: "6.1, 6.4" },
    retention: { value: "24h", rule: "6.6" },
    remember: { value: "none", rule: "6.6" },
    refused: { value: ["5xx", 425, 429], rule: "6.5" },
    ambiguous: { value: [408], rule: "6.5" },
    after_refusal: { value: "any", rule: "6.5" },
    duplicate: { value: "reject", rule: "6.4" },
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

/** By the names that `preset` takes. A name with a date stays as it is; one without may follow the protocol, but for scope, key and fingerprint. */
export const PRESETS: Readonly<Record<string, ProtocolPreset>> = {
  acp: ACP,
  "acp@2026-04-17": ACP,
  mcp: MCP,
};

/** No preset, also where `IDEMPOTENCY` has one. */
export const NO_PRESET = "none";

export const PRESET_NAMES = [NO_PRESET, "acp", "acp@2026-04-17", "mcp"] as const;

/** The preset of a name that may be wrong. */
export function presetNamed(name: unknown): ProtocolPreset | null {
  return typeof name === "string" && Object.hasOwn(PRESETS, name) ? (PRESETS[name] ?? null) : null;
}
