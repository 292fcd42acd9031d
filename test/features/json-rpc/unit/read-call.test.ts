// Which call a body is, and whether a route names it. What two servers could read in two ways never passes.

import { describe, expect, it } from "vitest";
import { chooseRoute, matchesNamePattern, mayBeProtected } from "../../../../src/features/json-rpc/choose-route.ts";
import { readCall, type RpcCall } from "../../../../src/features/json-rpc/read-call.ts";
import { readingOf } from "../../../../src/kernel/request/intent.ts";
import { configOf } from "../../../kernel/unit/config/support.ts";
import { finish } from "../../../support/slices.ts";

const read = (body: unknown) =>
  finish(readCall(new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))));

function callOf(body: unknown): RpcCall {
  const reading = read(body);
  if (reading.kind !== "call") throw new TypeError(reading.kind);
  return reading.call;
}

const PAY = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "pay", arguments: { amount: 5 } } };

describe("a body", () => {
  it("is a call with its method, its tool and its id as it is written", () => {
    expect(callOf(PAY)).toEqual({ method: "tools/call", tool: "pay", id: "7", unclear: null });
    expect(callOf('{"id" : "\\u0037","method":"ping"}')).toMatchObject({ id: '"\\u0037"', method: "ping", tool: null });
    expect(callOf('{"id":7.0,"method":"a"}').id).toBe("7.0");
    expect(callOf('{"id":null,"method":"a"}')).toMatchObject({ id: null, unclear: null });
    expect(callOf('{"method":"notifications/initialized"}').id).toBeNull();
  });

  it.each([
    ["a response", { jsonrpc: "2.0", id: 1, result: {} }],
    ["an error", { jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } }],
    ["a text", '"tools/call"'],
    ["an empty object", {}],
    ["an empty batch", []],
    ["a batch of responses", [{ id: 1, result: {} }, 5]],
  ])("is no call if it is %s", (_what, body) => {
    expect(read(body).kind).toBe("no-call");
  });

  it.each([
    ["", false],
    ["{", false],
    ['{"method":"tools/call"', false],
    ["\u0000", false],
    [`${"[".repeat(2000)}${"]".repeat(2000)}`, true],
    [JSON.stringify(Array.from({ length: 101 }, () => PAY)), true],
    [`{"fill":"${"x".repeat(1 << 20)}"}`, false],
  ])("is unreadable: %.20s", (body, isJson) => {
    expect(read(body)).toMatchObject({ kind: "unreadable", isJson });
  });

  it.each([
    ["method", '{"method":"ping","method":"tools/call","params":{"name":"pay"}}'],
    ["method", '{"method":"ping","Method":"tools/call","params":{"name":"pay"}}'],
    ["method", '{"METHOD":"tools/call","params":{"name":"pay"}}'],
    ["method", '{"method":["tools/call"],"params":{"name":"pay"}}'],
    ["params", '{"method":"tools/call","params":{"name":"get"},"Params":{"name":"pay"}}'],
    ["params", '{"method":"tools/call","params":{"name":"get"},"param\u017f":{"name":"pay"}}'],
    ["params.name", '{"method":"tools/call","params":{"name":"get","name":"pay"}}'],
    ["params.name", '{"method":"tools/call","params":{"name":"get","Name":"pay"}}'],
    ["params.name", '{"method":"tools/call","params":{}}'],
    ["params.name", '{"method":"tools/call","params":{"name":5}}'],
    ["params.name", '{"method":"tools/call"}'],
    ["id", '{"id":1,"id":2,"method":"tools/call","params":{"name":"pay"}}'],
    ["id", '{"id":1,"ID":2,"method":"tools/call","params":{"name":"pay"}}'],
    ["id", '{"id":{},"method":"tools/call","params":{"name":"pay"}}'],
    ["id", '{"id":true,"method":"tools/call","params":{"name":"pay"}}'],
  ])("is unclear in %s: %s", (member, body) => {
    const call = callOf(body);
    expect(call.unclear).toContain(member);
    expect(mayBeProtected(ROUTES, call)).toBe(true);
  });

  it("may be a batch, whose members are read each", () => {
    const reading = read([PAY, { method: "ping" }, { id: 1, result: {} }]);
    expect(reading).toMatchObject({ kind: "batch", calls: [{ tool: "pay" }, { method: "ping" }] });
    expect(read('[{"method":"ping","method":"tools/call"}]')).toMatchObject({
      calls: [{ unclear: "The member method is there twice, or in another case." }],
    });
  });
});

const { routes: ROUTES } = configOf({
  IDEMPOTENCY: { origin: "https://mcp.test" },
  ROUTES: [
    { path: "/mcp", jsonrpc: { tools: ["pay", "refund_*"], optional: ["refund_get"] } },
    { path: "/mcp", jsonrpc: { methods: ["tools/call", "orders.*"], tools: ["ship"] }, unknown: "retry" },
  ],
});

function chosen(method: string, tool: string | null = null): string | null {
  const found = chooseRoute(ROUTES, { method, tool, id: "1", unclear: null });
  return found === null ? null : `${found.route.name}${found.isOptional ? " optional" : ""}`;
}

describe("a route", () => {
  it("is the first of its path that names the call", () => {
    expect(chosen("tools/call", "pay")).toBe("ROUTES[0]");
    expect(chosen("tools/call", "refund_all")).toBe("ROUTES[0]");
    expect(chosen("tools/call", "refund_get")).toBe("ROUTES[0] optional");
    expect(chosen("tools/call", "ship")).toBe("ROUTES[1]");
    expect(chosen("orders.create")).toBe("ROUTES[1]");
  });

  it.each([
    ["tools/call", "list"],
    ["tools/list", null],
    ["initialize", null],
    ["orders", null],
  ])("does not name %s %s, so it passes", (method, tool) => {
    expect(chosen(method, tool)).toBeNull();
  });

  it("names what some server could take for a protected call, and lets none pass for one that may", () => {
    expect(chosen("Tools/Call", "PAY")).toBe("ROUTES[0]");
    expect(chosen(" tools/call ", " pay ")).toBe("ROUTES[0]");
    expect(chosen("tools/call", "Refund_Get")).toBe("ROUTES[0]");
  });

  it("shares the calls of its path with no other path's, and with none that protects whatever a body says", () => {
    const { routes } = configOf({
      IDEMPOTENCY: { origin: "https://mcp.test" },
      ROUTES: [
        { path: "/mcp", jsonrpc: { tools: ["pay"] } },
        { path: "/mcp", jsonrpc: { tools: ["ship"] } },
        { path: "/agents", jsonrpc: { tools: ["pay"] } },
        { path: "/orders" },
      ],
    });
    const shared = routes.map((route) => readingOf(route, routes).alternatives.map(({ name }) => name));
    expect(shared).toEqual([["ROUTES[0]", "ROUTES[1]"], ["ROUTES[0]", "ROUTES[1]"], ["ROUTES[2]"], []]);
  });

  it("whose methods do not name an unclear call lets it pass", () => {
    expect(mayBeProtected(ROUTES, callOf('{"id":1,"id":2,"method":"tools/list"}'))).toBe(false);
  });
});

describe("a pattern", () => {
  it.each([
    ["*", "", true],
    ["a*", "a", true],
    ["a*a", "a", false],
    ["a*b*c", "abc", true],
    ["a*b*c", "aXbYc", true],
    ["a*bc*c", "abcc", true],
    ["a*bc*c", "abc", false],
    ["a.c", "abc", false],
  ])("%s matches %s: %s", (pattern, name, isMatch) => {
    expect(matchesNamePattern(pattern, name)).toBe(isMatch);
  });
});
