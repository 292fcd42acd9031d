import { describe, expect, it } from "vitest";

import { configOf, PAYMENTS, pathsOf, problemsOf, routeOf } from "./support.ts";

describe("variables", () => {
  it("hold defaults, which a route overrides setting by setting", () => {
    const config = configOf({
      IDEMPOTENCY: { origin: "https://a.example", timeout: "10s", refused: [503], shards: 8, location_hint: "weur" },
      ROUTES: [
        PAYMENTS,
        {
          path: "/v1/orders",
          origin: "https://b.example",
          timeout: "20s",
          refused: [429],
          shards: "per-key",
          location_hint: "enam",
        },
      ],
    });
    expect(config.origin).toEqual({ kind: "url", url: "https://a.example" });
    expect(config.routes[0]).toMatchObject({
      origin: config.origin,
      rules: { timeoutMs: 10_000, lists: { refused: [503] } },
      layouts: { own: { shards: 8, locationHint: "weur" } },
    });
    expect(config.routes[1]).toMatchObject({
      origin: { kind: "url", url: "https://b.example" },
      rules: { timeoutMs: 20_000, lists: { refused: [429] } },
      layouts: { own: { shards: "per-key", locationHint: "enam" } },
    });
  });

  it("replace a whole table", () => {
    const route = routeOf({ key_format: { max: 9 } }, { IDEMPOTENCY: { key_format: { pattern: "^a", min: 5 } } });
    expect(route.keyFormat).toEqual({ pattern: null, min: 1, max: 9 });
  });

  it("that start with ROUTES are all read, in the order of their names' code units", () => {
    const config = configOf({
      ROUTES_B: [{ path: "/4" }],
      ROUTES_2: [{ path: "/3" }],
      ROUTES_10: [{ path: "/2" }],
      ROUTES: [{ path: "/0" }, { path: "/1" }],
      ROUTE: "not ours",
      MY_ROUTES: "not ours",
    });
    expect(config.routes.map(({ path }) => path)).toEqual(["/0", "/1", "/2", "/3", "/4"]);
    expect(config.routes.map(({ name }) => name)).toEqual([
      "ROUTES[0]",
      "ROUTES[1]",
      "ROUTES_10[0]",
      "ROUTES_2[0]",
      "ROUTES_B[0]",
    ]);
  });

  it("may be JSON text, as the dashboard stores them", () => {
    const config = configOf({ IDEMPOTENCY: '{"timeout":"5s"}', ROUTES: '[{"path":"/v1/payments"}]' });
    expect(config.routes[0]?.rules.timeoutMs).toBe(5_000);
  });

  it("with invalid JSON text are problems", () => {
    const problems = problemsOf({ IDEMPOTENCY: "{", ROUTES: "[" });
    expect(problems.map(({ path }) => path)).toEqual(["IDEMPOTENCY", "ROUTES"]);
    for (const { message } of problems) expect(message).toMatch(/^is text that is not JSON \(.+\): write valid JSON/);
  });

  it.each([[[]], ["7"], [null]])("must be a table for IDEMPOTENCY: %j", (value) => {
    expect(problemsOf({ IDEMPOTENCY: value, ROUTES: [PAYMENTS] })).toEqual([
      { path: "IDEMPOTENCY", message: expect.stringContaining("must be a table: write [vars.IDEMPOTENCY]") },
    ]);
  });

  it.each([[PAYMENTS], [null], ["{}"]])("must be a list for ROUTES: %j", (value) => {
    expect(problemsOf({ ROUTES: value })).toEqual([
      { path: "ROUTES", message: expect.stringContaining("must be a list of routes") },
    ]);
  });

  it.each([[{}], [{ ROUTES: [] }], [{ ROUTES: "[]", IDEMPOTENCY: {} }]])(
    "without any route are a problem: %j",
    (env) => {
      expect(problemsOf(env)).toMatchObject([
        { path: "ROUTES", message: expect.stringContaining("no route is protected") },
      ]);
    },
  );
});

describe("routes", () => {
  it("with a misspelt path have one problem, not two", () => {
    expect(pathsOf({ ROUTES: [{ pth: "/v1" }] })).toEqual(["ROUTES[0].pth"]);
  });

  it("are the only place for a path", () => {
    const env = { IDEMPOTENCY: { path: "/v1" }, ROUTES: [PAYMENTS] };
    expect(problemsOf(env)).toMatchObject([
      { path: "IDEMPOTENCY.path", message: expect.stringContaining("write it in [[vars.ROUTES]]") },
    ]);
  });
});

describe("problems", () => {
  it("are all named at once, in the order of the file", () => {
    const paths = pathsOf({
      IDEMPOTENCY: { retenton: "1h", shards: 0, key_format: { mn: 1, mx: 2 } },
      ROUTES: [
        { path: "/v1/*", timeout: "60s", lock: "60s" },
        { path: "/v1/a", methods: ["post", "get"] },
      ],
      ROUTES_2: [{ path: "/v1/b", scope: [], origin: { binding: "GONE" } }],
    });
    expect(paths).toEqual([
      "IDEMPOTENCY.retenton",
      "IDEMPOTENCY.key_format.mn",
      "IDEMPOTENCY.key_format.mx",
      "IDEMPOTENCY.shards",
      "ROUTES[0].lock",
      "ROUTES[1].methods[0]",
      "ROUTES[1].methods[1]",
      "ROUTES_2[0].scope",
      "ROUTES_2[0].origin.binding",
      "ROUTES_2[0].path",
    ]);
  });

  it("of the defaults come before those of operators, also if it takes a look at both to see them", () => {
    const paths = pathsOf({
      IDEMPOTENCY: { timeout: "60s", lock: "60s" },
      OPERATORS: 1,
      ROUTES: [{ path: "/v1/*" }],
    });
    expect(paths).toEqual(["IDEMPOTENCY.lock", "OPERATORS"]);
  });

  it("do not change the variables", () => {
    const env = Object.freeze({
      ROUTES: Object.freeze([Object.freeze({ path: "/v1", scope: Object.freeze(["ip"]) })]),
    });
    expect(configOf(env).routes).toHaveLength(1);
  });
});
