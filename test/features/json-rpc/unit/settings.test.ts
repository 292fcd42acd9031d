// The setting `jsonrpc`: what it adds to a route, and what `check` says of it.

import { describe, expect, it } from "vitest";
import { expandedRoutes } from "../../../../src/cli/check/expand.ts";
import { configWarnings } from "../../../../src/cli/check/file.ts";
import { jsonRpcNode } from "../../../../src/features/json-rpc/cli/node.ts";
import { configOf, PAYMENTS, problemOf, routeOf } from "../../../kernel/unit/config/support.ts";

const MCP = { path: "/mcp", jsonrpc: true };

describe("jsonrpc", () => {
  it("has the keys, the comparison and the rules of calls, and leaves out sessions", () => {
    const { jsonrpc, keyFrom, fingerprint, rules, note } = routeOf({ jsonrpc: true });
    expect(jsonrpc).toEqual({ methods: ["tools/call"], tools: ["*"], optional: [], replaySet: [] });
    expect(keyFrom.map((source) => ("name" in source ? source.name : source.kind))).toEqual([
      "Idempotency-Key",
      "/params/_meta/idempotencyKey",
      "/params/idempotencyKey",
      "/params/arguments/idempotency_key",
      "/params/arguments/meta/idempotency_key",
      "/params/arguments/meta/idempotency-key",
    ]);
    expect(fingerprint).toMatchObject({
      body: "json",
      selection: {
        kind: "except",
        pointers: [
          "/id",
          "/params/_meta",
          "/params/arguments/idempotency_key",
          "/params/arguments/meta/idempotency-key",
          "/params/arguments/meta/idempotency_key",
          "/params/idempotencyKey",
          "/params/inputResponses",
          "/params/requestState",
        ],
      },
    });
    expect(rules).toMatchObject({
      omitHeaders: ["set-cookie", "mcp-session-id"],
      uncompressed: true,
      awaitsMessage: true,
    });
    expect(note.label).toMatchObject({ name: "/params/name" });
  });

  it("is printed with what follows from it, where nobody has written that", () => {
    const printed = (route: object): string =>
      expandedRoutes({ IDEMPOTENCY: { origin: "https://mcp.test" }, ROUTES: [route] });
    const of = (more: object): string => printed({ ...MCP, ...more });
    const places = 'key_from = ["header:Idempotency-Key", "json:/params/_meta/idempotencyKey"'; // feature: key-sources
    expect(of({})).toContain(places); // feature: key-sources
    expect(of({})).toMatch(/fingerprint = \{ body = "json", except = \["\/id", .*\] \} +# follows from jsonrpc/);
    expect(of({})).toMatch(/omit_headers = \["set-cookie", "mcp-session-id"\] +# follows from jsonrpc/);
    expect(of({ omit_headers: ["x-a"] })).toMatch(/omit_headers = \["x-a"\] +# ROUTES\[0\]/);
    expect(of({ jsonrpc: false })).not.toContain("follows from jsonrpc");
    expect(printed({ path: "/mcp", preset: "mcp" })).toContain("follows from jsonrpc"); // feature: presets
  });

  // feature: key-sources begins
  it("has its keys in the header alone where that is written, in the route or for all", () => {
    const key_from = ["header:Idempotency-Key"];
    const sources = (route: object, defaults: object = {}): number =>
      configOf({ IDEMPOTENCY: { origin: "https://mcp.test", ...defaults }, ROUTES: [PAYMENTS, { ...MCP, ...route }] })
        .routes[1]?.keyFrom.length ?? 0;
    expect([sources({}), sources({ key_from }), sources({}, { key_from })]).toEqual([6, 1, 1]);
    const { fingerprint } = routeOf({ jsonrpc: true, key_from });
    expect(fingerprint.selection?.pointers).not.toContain("/params/arguments/idempotency_key");
  });

  it("keeps what is written of the same", () => {
    const written = {
      key_from: ["json:/params/k"],
      fingerprint: { body: "json", except: ["/params"] },
      note: { label: "json:/params/k" },
    };
    const { keyFrom, fingerprint, note } = routeOf({ jsonrpc: { tools: ["pay"] }, ...written });
    expect(keyFrom).toMatchObject([{ name: "/params/k" }]);
    expect(fingerprint.selection?.pointers).toEqual(["/id", "/params"]);
    expect(note.label).toMatchObject({ name: "/params/k" });
    expect(
      routeOf({ jsonrpc: true, fingerprint: { body: "json", only: ["/params/arguments"] } }).fingerprint.selection,
    ).toEqual({
      kind: "only",
      pointers: ["/params/arguments"],
    });
  });
  // feature: key-sources ends

  // feature: pages begins
  it("lets pages of other origins speak to an MCP server", () => {
    const { cors } = routeOf({ jsonrpc: true, cors: { origins: ["https://app.test"], allow_headers: ["mcp-method"] } });
    expect(cors?.allowHeaders).toEqual(
      expect.arrayContaining(["mcp-method", "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Name"]),
    );
    expect(cors?.exposeHeaders).toContain("Mcp-Session-Id");
  });
  // feature: pages ends

  it("costs a route without it nothing: its object is told what it was told before", () => {
    expect(routeOf({}).jsonrpc).toBeNull();
    expect(Object.keys(routeOf({}).rules)).not.toContain("awaitsMessage");
  });

  it.each([
    [{ duplicate: "attach" }, "duplicate"],
    [{ async: "always" }, "async"], // feature: accepted
    [{ verify: "/v/{key}" }, "verify"],
    [{ graphql: true }, "graphql"], // feature: graphql
    [{ fingerprint: { body: "bytes" } }, "fingerprint.body"],
    [{ scope: ["header:authorization", "header:Mcp-Session-Id"] }, "mcp-session-id"],
    [{ fingerprint: { body: "json", headers: ["mcp-session-id"] } }, "mcp-session-id"],
    [{ mode: "observe" }, "jsonrpc"], // feature: observe
    [{ methods: ["PUT"] }, "methods without POST"],
    [{ key_from: [["json:/params/k", "form:k"]] }, "form in key_from"], // feature: key-sources
    [{ key_from: ["header:Idempotency-Key", { digest: "request", window: "10m", repeat: "replay" }] }, "digest"], // feature: content-keys
  ])("is refused with %j", (settings, what) => {
    expect(problemOf({ jsonrpc: true, ...settings })).toContain(what);
  });

  it.each([
    [{ tools: "pay" }],
    [{ tools: [""] }],
    [{ methods: [] }],
    [{ tools: ["a", "a"] }],
    [{ tool: ["a"] }],
    ["yes"],
  ])("is refused as %j", (jsonrpc) => {
    expect(() => routeOf({ jsonrpc })).toThrow();
  });

  it("says which of its members is wrong", () => {
    expect(problemOf({ jsonrpc: { tool: ["pay"] } })).toBe('jsonrpc.tool: unknown setting; did you mean "tools"?');
    expect(problemOf({ jsonrpc: { tools: "pay" } })).toBe('jsonrpc.tools: must be a list of names: write ["pay"]');
  });
});

describe("replay_set", () => {
  const AT = "/result/structuredContent/replayed";

  it("is a value, or where the request has it", () => {
    const replay_set = [
      { at: AT, value: true },
      { at: "/result/structuredContent/context", from: "/params/arguments/context" },
    ];
    expect(routeOf({ jsonrpc: true, replay_set }).jsonrpc?.replaySet).toEqual([
      { at: AT, json: "true" },
      { at: "/result/structuredContent/context", from: "/params/arguments/context" },
    ]);
  });

  it.each<[string, readonly object[], string]>([
    ["both", [{ at: AT, value: 1, from: "/id" }], "must have either value or from"],
    ["neither", [{ at: AT }], "must have either value or from"],
    ["the id", [{ at: "/id", value: 1 }], "must not change id"],
    ["the method", [{ at: "/method/x", value: 1 }], "must not change id"],
    ["the whole", [{ at: "", value: 1 }], "is the whole body"],
    [
      "one twice",
      [
        { at: "/a", value: 1 },
        { at: "/a", value: 2 },
      ],
      "must name each member once",
    ],
    [
      "one within another",
      [
        { at: "/a/b", value: 1 },
        { at: "/a", value: 2 },
      ],
      "must name each member once",
    ],
    ["a list of values", [{ at: "/a", value: [1] }], "must be text, a number, true or false"],
    ["nine", Array.from({ length: 9 }, (_, at) => ({ at: `/a${at}`, value: 1 })), "at most 8"],
  ])("is refused with %s", (_what, replay_set, message) => {
    expect(problemOf({ jsonrpc: true, replay_set })).toContain(message);
  });

  it("is refused on a route without jsonrpc, whose replays nobody edits", () => {
    expect(problemOf({ replay_set: [{ at: AT, value: true }] })).toContain("is only for routes with jsonrpc");
  });

  it("may begin alike", () => {
    const replay_set = ["/ab", "/a", "/a~1b"].map((at) => ({ at, value: 1 }));
    expect(routeOf({ jsonrpc: true, replay_set }).jsonrpc?.replaySet).toHaveLength(3);
  });
});

describe("routes of one path", () => {
  it("are alternatives if all have calls, and otherwise hide each other", () => {
    const pay = { ...MCP, jsonrpc: { tools: ["pay"] } };
    expect(configOf({ ROUTES: [pay, { ...MCP, unknown: "retry" }] }).routes).toHaveLength(2);
    expect(() => configOf({ ROUTES: [pay, { path: "/mcp" }] })).toThrow("never gets");
    expect(() => configOf({ ROUTES: [{ path: "/mcp" }, pay] })).toThrow("never gets");
  });

  it("are warned of if one gets no call", () => {
    const routes = [
      { ...MCP, jsonrpc: { tools: ["pay_*"] } },
      { ...MCP, jsonrpc: { tools: ["pay_all", "ship"] } },
      { ...MCP, jsonrpc: { tools: ["pay_now"] } },
    ];
    const config = configOf({ IDEMPOTENCY: { origin: "https://mcp.test" }, ROUTES: routes });
    const unreached = configWarnings(config).filter(({ code }) => code === "route-unreachable");
    expect(unreached.map(({ path }) => path)).toEqual(["ROUTES[2].jsonrpc"]);
  });
});

describe("check", () => {
  // feature: problem-shapes begins
  it.each([
    ["jsonrpc", false, 1],
    ["ucp-mcp", false, 1],
    ["jsonrpc", true, 0],
    ["acp", false, 0],
  ])(
    "warns of problems in the form of JSON-RPC where replays have the first id: %s, %s",
    (problems, jsonrpc, count) => {
      const ROUTES = [{ ...MCP, jsonrpc, problems }];
      const found = configWarnings(configOf({ IDEMPOTENCY: { origin: "https://mcp.test" }, ROUTES }));
      expect(found.filter(({ path }) => path === "ROUTES[0].problems")).toHaveLength(count);
    },
  );
  // feature: problem-shapes ends

  it("says what is protected and what passes, and warns of a store that fails open", () => {
    const config = configOf({
      IDEMPOTENCY: { origin: "https://mcp.test" },
      ROUTES: [
        { ...MCP, jsonrpc: { optional: ["get_*"] }, on_store_failure: "open", unknown: "retry" },
        { path: "/ended", jsonrpc: true, refused: ["4xx", 503] },
        PAYMENTS,
      ],
    });
    expect(jsonRpcNode.promises?.(config)).toEqual([
      "/mcp: protects calls of tools/call, tools * (get_* also without a key, unprotected); all other JSON-RPC passes",
      expect.stringMatching(/^\/mcp: the 404 of a session that the server has forgotten is kept/),
      "/ended: protects calls of tools/call, tools *; all other JSON-RPC passes",
    ]);
    expect(configWarnings(config).map(({ path }) => path)).toContain("ROUTES[0].on_store_failure");
  });
});
