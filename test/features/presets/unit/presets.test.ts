// What a preset gives a route: the order of what is written, the scope that it adds to, what nobody may leave open, and what breaks a rule.

import { describe, expect, it } from "vitest";
import { configWarnings } from "../../../../src/cli/check/file.ts";
import { expandedRoutes } from "../../../../src/cli/check/expand.ts";
import { SETTINGS } from "../../../../src/features/settings.ts";
import { presetsNode } from "../../../../src/features/presets/cli/node.ts";
import { PRESET_NAMES, PRESETS } from "../../../../src/features/presets/settings/presets.ts";
import { scopeNames } from "../../../../src/kernel/config/scope-part.ts";
import { configOf, problemsOf } from "../../../kernel/unit/config/support.ts";

const ORIGIN = { origin: "https://api.example.net" };
const ACP = { path: "/checkout_sessions/*", preset: "acp", unknown: "hold" };

const EXCLUDED = ["context", "governance_context", "push_notification_config/authentication/credentials"].map(
  (name) => `/params/arguments/${name}`,
);
const HEADER = "header:Idempotency-Key"; // feature: key-sources
const ACCOUNT = ["header:authorization", "json:/params/arguments/account"];
const routeFor = (preset: string, more: object = {}): object => ({ ...ACP, path: "/shop", preset, ...more });

const routeIn = (route: object, defaults: object = {}) => {
  const [first] = configOf({ IDEMPOTENCY: { ...ORIGIN, ...defaults }, ROUTES: [route] }).routes;
  if (first === undefined) throw new Error("no route");
  return first;
};

describe("a preset", () => {
  it("has only settings that there are, and leaves out what follows a lost call where its protocol wants a fresh attempt", () => {
    for (const [preset, { settings }] of Object.entries(PRESETS)) {
      for (const name of Object.keys(settings)) expect(Object.keys(SETTINGS.entries)).toContain(name);
      expect(settings["unknown"]?.value).toBe(preset === "mcp" ? "hold" : undefined);
      expect(settings).not.toHaveProperty("scope");
    }
  });

  it("stands between what its route writes and what IDEMPOTENCY writes", () => {
    const { rules, methods } = routeIn(
      { ...ACP, retention: "48h" },
      { refused: [503], retention: "72h", methods: ["PUT"] },
    );
    expect(rules.lists).toEqual({ refused: ["5xx", 425, 429], ambiguous: [408] });
    expect([methods, rules.policy.retentionMs]).toEqual([["POST"], 48 * 3_600_000]);
  });

  it("of IDEMPOTENCY stands behind what IDEMPOTENCY writes, and a route may have none", () => {
    const defaults = { preset: "acp", unknown: "hold", refused: [503] };
    const { rules, problemShape } = routeIn({ path: "/a" }, defaults);
    expect([rules.lists.refused, rules.lists.ambiguous, problemShape?.name]).toEqual([[503], [408], "acp"]);
    expect(routeIn({ path: "/a", preset: "none" }, defaults)).toMatchObject({ preset: null, problemShape: null });
  });

  it.each<[string, object, object, readonly string[]]>([
    ["the default", {}, {}, ["header:authorization", "path"]],
    ["that of IDEMPOTENCY", {}, { scope: ["header:x-caller"] }, ["header:x-caller", "path"]],
    ["one that has it already", {}, { scope: ["path", "header:x-caller"] }, ["path", "header:x-caller"]],
    ["one without callers", {}, { scope: ["none"] }, ["path"]],
    ["what its own route writes, which stays", { scope: ["header:x-own"] }, { scope: ["none"] }, ["header:x-own"]],
  ])("adds its parts to the scope in force: %s", (_what, route, defaults, expected) => {
    expect(scopeNames(routeIn({ ...ACP, ...route }, defaults).scope)).toEqual(expected);
    const { path, ...preset } = ACP;
    expect(scopeNames(routeIn({ path, ...route }, { ...preset, ...defaults }).scope)).toEqual(expected);
  });

  it("pinned means the same", () => {
    expect(routeIn({ ...ACP, preset: "acp@2026-04-17" })).toEqual({ ...routeIn(ACP), preset: "acp@2026-04-17" });
  });
});

describe("what nobody may leave open beside a preset", () => {
  it("is what follows a lost call", () => {
    const { unknown: _, ...open } = ACP;
    const [problem, ...others] = problemsOf({ IDEMPOTENCY: ORIGIN, ROUTES: [open] });
    expect([problem?.path, problem?.code, others]).toEqual(["ROUTES[0].unknown", "setting-missing", []]);
    expect(routeIn(open, { unknown: "retry" }).rules.policy.unknown).toBe("retry");
    expect(routeIn({ ...open, verify: "/by-key/{key}" }).rules.policy.unknown).toBe("verify");
  });

  it("is written for calls of JSON-RPC, which nobody can ask about, without a way to ask", () => {
    const [problem] = problemsOf({ IDEMPOTENCY: ORIGIN, ROUTES: [{ path: "/mcp", preset: "adcp" }] });
    expect([problem?.path, problem?.message]).toEqual(["ROUTES[0].unknown", expect.not.stringContaining("verify")]);
  });

  it("is not decided by what the API is asked about other routes", () => {
    const defaults = { ...ORIGIN, verify: "/by-key/{key}" };
    const found = problemsOf({ IDEMPOTENCY: defaults, ROUTES: [{ path: "/mcp", preset: "adcp" }] });
    expect(found.map(({ path }) => path)).toContain("ROUTES[0].unknown");
    const route = { path: "/mcp", preset: "adcp", unknown: "hold" };
    expect(routeIn(route, defaults).rules.policy.unknown).toBe("hold");
  });

  it("refuses a version that there is not", () => {
    const preset = "acp@2025-01-01";
    expect(problemsOf({ ROUTES: [{ ...ACP, preset }] }).map(({ path }) => path)).toEqual(["ROUTES[0].preset"]);
  });
});

describe("the preset for MCP", () => {
  it("adds nothing to the scope, holds lost calls, and takes what its route writes", () => {
    const route = routeIn({ path: "/mcp", preset: "mcp", jsonrpc: { tools: ["pay"] } });
    expect(scopeNames(route.scope)).toEqual(["header:authorization"]);
    expect([route.rules.policy.unknown, route.problemShape?.name]).toEqual(["hold", "jsonrpc"]);
    expect(routeIn({ path: "/mcp", preset: "mcp", unknown: "retry" }, { unknown: "hold" }).rules.policy.unknown).toBe(
      "retry",
    );
    expect(routeIn({ path: "/mcp", preset: "mcp" }, { unknown: "retry" }).rules.policy.unknown).toBe("hold");
  });

  it("has no warnings of its own", () => {
    const config = configOf({ IDEMPOTENCY: ORIGIN, ROUTES: [{ path: "/mcp", preset: "mcp" }] });
    expect(configWarnings(config)).toEqual([]);
  });
});

describe("the presets of protocols over MCP", () => {
  it("tell operations apart, and compare what the protocol compares", () => {
    const { scope, keyFrom, fingerprint, jsonrpc, problemShape } = routeIn({
      path: "/mcp",
      preset: "adcp",
      unknown: "hold",
    });
    expect(scopeNames(scope)).toEqual(["header:authorization", "json:/params/arguments/account"]);
    expect(keyFrom.map((source) => ("name" in source ? source.name : ""))).toContain(
      "/params/arguments/idempotency_key",
    );
    expect(fingerprint.selection?.pointers).toEqual(expect.arrayContaining(EXCLUDED));
    expect([jsonrpc?.optional.length, jsonrpc?.replaySet.length, problemShape?.name]).toEqual([11, 2, "adcp"]);
    const ucp = routeIn({ path: "/mcp", preset: "ucp-mcp", unknown: "hold" }, { scope: ["header:x-caller"] });
    expect(scopeNames(ucp.scope)).toEqual(["header:x-caller", "json:/params/name", "json:/params/arguments/id"]);
    expect(ucp.fingerprint.selection?.pointers).toContain("/params/arguments/meta");
  });
});

describe("a written setting that breaks a rule", () => {
  it.each<[object, string, string]>([
    [{ methods: ["PATCH"] }, "methods", "6.1"],
    [{ key: "optional" }, "key", "6.1"],
    [{ key_format: { max: 64 } }, "key_format", "6.1"],
    [{ scope: ["header:authorization"] }, "scope", "6.1"],
    [{ fingerprint: { body: "bytes" } }, "fingerprint", "6.2"],
    [{ fingerprint: { body: "json", headers: ["x-a"] } }, "fingerprint", "6.2"],
    [{ problems: "rfc9457" }, "problems", "6.1 and 6.4"],
    // feature: content-keys begins
    [
      { key_from: ["header:Idempotency-Key", { digest: "request", window: "10m", repeat: "replay" }] },
      "key_from",
      "6.1",
    ],
    // feature: content-keys ends
    [{ duplicate: "wait" }, "duplicate", "6.4"],
    [{ refused: [503] }, "refused", "6.5"],
    [{ retention: "1h" }, "retention", "6.6"],
    [{ remember: "30d" }, "remember", "6.6"],
    [{ key_from: ["header:X-Key"] }, "key_from", "6.1"], // feature: key-sources
    [{ scope: ["none", "path"] }, "scope", "6.1"],
    [{ scope: ["ip", "path"] }, "scope", "6.1"],
    [{ scope: ["header:authorization", "path", "json:/id"] }, "scope", "6.1"],
    [{ refused: ["5xx", 409] }, "refused", "6.3"],
    [{ after_refusal: "same" }, "after_refusal", "6.5"],
  ])("is warned of with its number: %j", (written, setting, rule) => {
    const warnings = configWarnings(configOf({ IDEMPOTENCY: ORIGIN, ROUTES: [{ ...ACP, ...written }] }));
    expect(warnings.map(({ path }) => path)).toEqual([`ROUTES[0].${setting}`]);
    expect(warnings[0]?.message).toContain(`breaks ACP ${rule}, `);
  });

  it.each<[string, object, string, string]>([
    ["ucp", { methods: ["POST"] }, "methods", "UCP Replay Protection"],
    ["ucp", { key: "optional" }, "key", "UCP checkout/rest"],
    ["ucp", { key_format: { min: 40 } }, "key_format", "UCP Replay Protection"],
    ["ucp", { scope: ["header:authorization"] }, "scope", "UCP Replay Protection"],
    ["ucp", { fingerprint: { body: "json" } }, "fingerprint", "UCP Replay Protection"],
    ["ucp", { problems: "rfc9457" }, "problems", "UCP error responses"],
    ["ucp", { retention: "1h" }, "retention", "UCP Replay Protection"],
    ["acp-mcp", { scope: ["header:authorization", "json:/params/name"] }, "scope", "ACP 6.1"],
    ["acp-mcp", { problems: "jsonrpc" }, "problems", "ACP 6.1 and 6.4"],
    ["acp-mcp", { refused: [503] }, "refused", "ACP 6.5"],
    ["acp-mcp", { remember: "7d" }, "remember", "ACP 6.6"],
    ["ucp-mcp", { scope: ["header:authorization"] }, "scope", "UCP Replay Protection"],
    ["ucp-mcp", { problems: "acp-mcp" }, "problems", "UCP checkout/mcp"],
    ["ucp-mcp", { retention: "1h" }, "retention", "UCP Replay Protection"],
    ["acp-mcp", { duplicate: "wait" }, "duplicate", "ACP 6.4"],
    ["ucp-mcp", { key: "optional" }, "key", "UCP checkout/mcp"],
    ["ucp-mcp", { jsonrpc: { optional: ["*_checkout"] } }, "jsonrpc", "UCP checkout/mcp"],
    ["mcp", { problems: "rfc9457" }, "problems", "MCP basic, responses"],
    ["mcp", { problems: "acp" }, "problems", "MCP basic, responses"],
    ["adcp", { key: "optional" }, "key", "AdCP Idempotency"],
    ["adcp", { jsonrpc: { optional: ["get_*", "sync_*"] } }, "jsonrpc", "AdCP Idempotency"],
    ["adcp", { key_format: { max: 64 } }, "key_format", "AdCP rule 1"],
    ["adcp", { scope: ["header:authorization"] }, "scope", "AdCP Idempotency"],
    ["adcp", { fingerprint: { body: "json" } }, "fingerprint", "AdCP Payload equivalence"],
    ["adcp", { fingerprint: { body: "json", except: [...EXCLUDED, "/params/arguments/ext"] } }, "fingerprint", "AdCP"],
    ["adcp", { problems: "jsonrpc" }, "problems", "AdCP transport errors"],
    ["adcp", { refused: [503] }, "refused", "AdCP rule 3"],
    ["adcp", { replay_set: [] }, "replay_set", "AdCP rule 4"],
    ["adcp", { retention: "30m" }, "retention", "AdCP rule 7"],
    ["adcp", { retention: "8d", remember: "30d" }, "retention", "AdCP rule 7"],
    ["ucp", { key_format: { min: 16 } }, "key_format", "UCP Replay Protection"],
    ["ucp", { scope: ["none", "path"] }, "scope", "UCP Replay Protection"],
    ["ucp", { refused: ["4xx", 503] }, "refused", "UCP Replay Protection"],
    ["ucp", { after_refusal: "any" }, "after_refusal", "UCP Replay Protection"],
    ["ucp", { on_store_failure: "open", unknown: "retry" }, "on_store_failure", "UCP Replay Protection"],
    ["acp-mcp", { jsonrpc: { tools: ["create_*"] } }, "jsonrpc", "ACP MCP binding, meta"],
    ["acp-mcp", { fingerprint: { body: "json" } }, "fingerprint", "ACP 6.2"],
    ["acp-mcp", { verdicts: [] }, "verdicts", "ACP 6.5"],
    ["acp-mcp", { after_refusal: "same" }, "after_refusal", "ACP 6.5"],
    [
      "ucp-mcp",
      { jsonrpc: { tools: ["create_*"], optional: ["create_*", "update_*"] } },
      "jsonrpc",
      "UCP checkout/mcp",
    ],
    ["ucp-mcp", { jsonrpc: true }, "jsonrpc", "UCP checkout/mcp"],
    ["ucp-mcp", { fingerprint: { body: "json" } }, "fingerprint", "UCP Replay Protection"],
    ["ucp-mcp", { verdicts: [] }, "verdicts", "UCP checkout/mcp"],
    ["mcp", { verdicts: [] }, "verdicts", "MCP patterns/mrtr"],
    ["adcp", { jsonrpc: { tools: ["create_media_buy"], optional: ["get_*"] } }, "jsonrpc", "AdCP Idempotency"],
    ["adcp", { jsonrpc: true }, "jsonrpc", "AdCP Idempotency"],
    ["adcp", { key_format: { pattern: "^[A-Za-z0-9_.:-]+$" } }, "key_format", "AdCP rule 1"],
    ["adcp", { scope: [...ACCOUNT, "json:/params/name"] }, "scope", "AdCP Idempotency"],
    ["adcp", { verdicts: [{ at: "/error", is: "refused" }] }, "verdicts", "AdCP rule 3"],
    ["adcp", { after_refusal: "same" }, "after_refusal", "AdCP rule 3"],
    ["adcp", { replay_set: [{ at: "/result/structuredContent/replayed", value: true }] }, "replay_set", "AdCP rule 4"],
    ["adcp", { remember: "none" }, "remember", "AdCP rule 6"],
    // feature: key-sources begins
    ["ucp", { key_from: ["header:X-Key"] }, "key_from", "UCP checkout/rest"],
    ["acp-mcp", { key_from: ["header:X-Key"] }, "key_from", "ACP MCP binding, meta"],
    ["ucp-mcp", { key_from: ["header:X-Key"] }, "key_from", "UCP checkout/mcp"],
    ["adcp", { key_from: [HEADER] }, "key_from", "AdCP Idempotency"],
    // feature: key-sources ends
  ])("of %s is warned of with its rule: %j", (preset, written, setting, rule) => {
    const warnings = configWarnings(configOf({ IDEMPOTENCY: ORIGIN, ROUTES: [routeFor(preset, written)] }));
    expect(warnings.map(({ path }) => path)).toEqual([`ROUTES[0].${setting}`]);
    expect(warnings[0]?.message).toContain(`breaks ${rule}`);
  });

  it("is none of routes that share a path, if together they protect what the preset does", () => {
    const sending = {
      ...routeFor("adcp", { scope: [...ACCOUNT, "json:/params/arguments/session_id"] }),
      jsonrpc: { tools: ["si_send_message"] },
    };
    const warned = (...ROUTES: readonly object[]): readonly string[] =>
      configWarnings(configOf({ IDEMPOTENCY: ORIGIN, ROUTES })).map(({ path }) => path);
    expect(warned(sending, routeFor("adcp"))).toEqual([]);
    expect(warned(sending)).toEqual(["ROUTES[0].jsonrpc", "ROUTES[0].jsonrpc"]);
  });

  it.each(PRESET_NAMES)("is none of the preset's own: %s", (preset) => {
    expect(configWarnings(configOf({ IDEMPOTENCY: ORIGIN, ROUTES: [routeFor(preset)] }))).toEqual([]);
  });
});

it("is printed with the number of the rule behind each line", () => {
  const text = expandedRoutes({ IDEMPOTENCY: ORIGIN, ROUTES: [{ ...ACP, retention: "48h" }] });
  expect(text).toMatch(/scope = \["header:authorization", "path"\] +# preset acp: ACP 6\.1/);
  expect(text).toMatch(/refused = \["5xx", 425, 429\] +# preset acp: ACP 6\.5/);
  expect(text).toMatch(/retention = "48h" +# ROUTES\[0\]/);
});

it("comes with what its rule about errors costs, and what is the seller's own part", () => {
  const promised = (route: object): readonly string[] =>
    presetsNode.promises?.(configOf({ IDEMPOTENCY: ORIGIN, ROUTES: [route], LIMIT: {} })) ?? [];
  expect(promised(ACP)).toEqual([
    expect.stringMatching(
      /^\/checkout_sessions\/\*: an answer with 500 counts as one before the effect \(ACP 6\.5\), so/,
    ),
  ]);
  expect(promised({ ...ACP, refused: [503], ambiguous: [408] })).toEqual([]);
  expect(promised(routeFor("adcp", { retention: "48h" }))).toEqual([
    expect.stringContaining("(AdCP rule 3)"),
    "/shop: get_adcp_capabilities has to declare replay_ttl_seconds = 172800 (AdCP rule 7)",
    "/shop: nothing limits new keys, as AdCP rule 8 wants it for each agent: write new_keys",
  ]);
  expect(promised(routeFor("adcp", { new_keys: "LIMIT" }))).toHaveLength(2);
});
