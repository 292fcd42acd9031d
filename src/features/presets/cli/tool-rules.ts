// Which tools a protocol over MCP wants protected, and what `check` says of a path whose routes protect others.

import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import { brokenBy, type ByPreset, rulesOfPreset } from "./protocol-rules.ts";

/** Routes of one path are alternatives, so only all of them together say which tools are protected. */
export function brokenToolRules({ routes }: Config): readonly ConfigProblem[] {
  return routes.flatMap((route, index) => {
    const { path, preset } = route;
    if (routes.findIndex((one) => one.path === path && one.preset === preset) < index) return [];
    const alternatives = routes.filter((one) => one.path === path);
    return rulesOfPreset(TOOL_RULES, preset).flatMap(({ tools, are, ...rule }) => {
      const isKept = tools.every((tool) => are.includes(protectionOf(alternatives, tool)));
      return isKept ? [] : [brokenBy(route, { setting: "jsonrpc", ...rule })];
    });
  });
}

type ToolProtection = "keyed" | "optional" | "unprotected";

function protectionOf(routes: readonly Route[], tool: string): ToolProtection {
  for (const { jsonrpc } of routes) {
    if (jsonrpc === null || !matches(jsonrpc.methods, "tools/call")) continue;
    if (matches(jsonrpc.optional, tool)) return "optional";
    if (matches(jsonrpc.tools, tool)) return "keyed";
  }
  return "unprotected";
}

function matches(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => ofPattern(pattern).test(name));
}

/** `*` is any text. */
function ofPattern(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll(/\W/g, (sign) => (sign === "*" ? ".*" : `\\${sign}`))}$`, "s");
}

interface ToolRule {
  readonly rule: string;
  readonly tools: readonly string[];
  readonly are: readonly ToolProtection[];
  readonly what: string;
}

/** Each with some of the tools that it is about. */
const TOOL_RULES: ByPreset<ToolRule> = {
  none: [],
  acp: [],
  "acp@2026-04-17": [],
  "acp-mcp": [
    {
      rule: "MCP binding, meta",
      tools: ["create", "update", "complete", "cancel"].map((verb) => `${verb}_checkout_session`),
      are: ["keyed", "optional"],
      what: "a key counts for each tool that changes a session",
    },
  ],
  ucp: [],
  "ucp-mcp": [
    {
      rule: "checkout/mcp",
      tools: ["complete_checkout", "cancel_checkout"],
      are: ["keyed"],
      what: "complete_* and cancel_* need a key",
    },
    {
      rule: "checkout/mcp",
      tools: ["create_checkout", "update_checkout"],
      are: ["optional"],
      what: "create_* and update_* pass without a key, and are protected with one",
    },
  ],
  adcp: [
    {
      rule: "Idempotency",
      tools: ["create_media_buy", "update_media_buy", "sync_creatives", "activate_signal"],
      are: ["keyed"],
      what: "every tool that changes something needs a key",
    },
    {
      rule: "Idempotency",
      tools: ["get_adcp_capabilities", "get_products"],
      are: ["optional"],
      what: "tools that only read pass without a key, and are protected with one",
    },
  ],
  mcp: [],
};
