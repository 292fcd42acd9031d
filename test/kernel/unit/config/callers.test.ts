// Settings about who may read answers (`cors`) and how many keys a caller may begin (`new_keys`).

import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig, configWarnings } from "../../../../src/cli/check/file.ts";
import { isListed, parsePageOrigin } from "../../../../src/kernel/config/page-origin.ts";
import { configOf, PAYMENTS, routeOf } from "./support.ts";

const SHOP = "https://shop.example.com";

describe("cors.origins", () => {
  const lets = (listed: string, origin: string): boolean => {
    const parsed = parsePageOrigin(listed);
    if (!parsed.ok || parsed.value === null) throw new Error(`not one page: ${listed}`);
    return isListed(parsed.value, origin);
  };

  it.each([
    [SHOP, SHOP],
    ["http://127.0.0.1:3000", "http://127.0.0.1:3000"],
    ["http://[::1]:3000", "http://[::1]:3000"],
    ["capacitor://localhost", "capacitor://localhost"],
    ["https://*.example.com", SHOP],
    ["https://*.example.com", "https://pr-12_a.example.com"],
    ["http://*.example.com:8080", "http://a.example.com:8080"],
  ])("%s lets in %s", (listed, origin) => {
    expect(lets(listed, origin)).toBe(true);
  });

  it.each([
    [SHOP, "http://shop.example.com"],
    [SHOP, `${SHOP}:8443`],
    [SHOP, `${SHOP}.evil.example`],
    [SHOP, "https://SHOP.example.com"],
    [SHOP, "null"],
    [SHOP, `${SHOP}, https://evil.example`],
    ["https://*.example.com", "https://example.com"],
    ["https://*.example.com", "https://a.b.example.com"],
    ["https://*.example.com", "https://.example.com"],
    ["https://*.example.com", "http://a.example.com"],
    ["https://*.example.com", "https://a.example.com:8443"],
    ["https://*.example.com", "https://evil-example.com"],
    ["https://*.example.com", "https://evil.example/.example.com"],
    ["https://*.example.com", "https://evil.example#.example.com"],
    ["https://*.example.com", "https://user@.example.com"],
    ["https://*.example.com", "https://a.example.com.evil.example"],
    ["https://*.example.com", "null"],
  ])("%s keeps out %s", (listed, origin) => {
    expect(lets(listed, origin)).toBe(false);
  });

  it("may be every page", () => {
    expect(routeOf({ cors: { origins: ["*"] } }).cors).toMatchObject({ origins: null });
  });
});

describe("cors", () => {
  it("allows the headers that the route reads, each once", () => {
    const route = routeOf({
      key_from: ["header:X-Request-Key", "header:Idempotency-Key"],
      scope: ["header:X-Api-Key", "header:authorization", "cookie:session"],
      fingerprint: { headers: ["X-Api-Version"] },
      cors: {
        origins: [SHOP],
        allow_headers: ["X-Request-Key", "X-Trace"],
        expose_headers: ["Location"],
        max_age: "1h",
      },
    });
    expect(route.cors).toEqual({
      origins: [{ kind: "exact", origin: SHOP }],
      credentials: false,
      allowHeaders: [
        "Authorization",
        "Content-Type",
        "Idempotency-Key",
        "Last-Event-ID",
        "x-request-key",
        "x-api-key",
        "x-api-version",
        "X-Trace",
      ],
      exposeHeaders: ["Location"],
      preflight: "answer",
      maxAgeMs: 3_600_000,
    });
  });

  it("of a route replaces that of all routes, also by none", () => {
    const [all, own, none] = configOf({
      IDEMPOTENCY: { cors: { origins: [SHOP], expose_headers: ["Location"] } },
      ROUTES: [PAYMENTS, { path: "/own", cors: { origins: ["https://other.example"] } }, { path: "/none", cors: {} }],
    }).routes;
    expect(all?.cors).toMatchObject({ exposeHeaders: ["Location"] });
    expect(own?.cors).toMatchObject({ origins: [{ origin: "https://other.example" }], exposeHeaders: [] });
    expect(none?.cors).toBeNull();
  });

  it("warns if the scope is a cookie that no page of another origin sends", () => {
    const pathsOf = (settings: object) =>
      configWarnings(configOf({ ROUTES: [{ ...PAYMENTS, ...settings }] })).map(({ path }) => path);
    const scope = ["cookie:session"];
    expect(pathsOf({ scope, cors: { origins: [SHOP] } })).toEqual(["ROUTES[0].cors.credentials"]);
    expect(pathsOf({ scope, cors: { origins: [SHOP], credentials: true } })).toEqual([]);
    expect(pathsOf({ cors: { origins: [SHOP] } })).toEqual([]);
  });
});

describe("new_keys", () => {
  const SOUND = `
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
vars.ROUTES = [{ path = "/v1/payments", new_keys = { binding = "NEW_KEYS" } }]
`;
  const limiter = (simple: string, others = ""): string =>
    `ratelimits = [{ name = "NEW_KEYS", namespace_id = "1001", simple = ${simple}${others} }]\n`;
  const problemsIn = (toml: string): readonly string[] =>
    checkWranglerConfig(parse(toml)).flatMap(({ problems }) =>
      problems.map(({ path, message }) => `${path}: ${message}`),
    );

  it("needs a binding at start", () => {
    expect(routeOf({ new_keys: { binding: "NEW_KEYS" } }, { NEW_KEYS: {} }).newKeys).toEqual({
      binding: "NEW_KEYS",
      retryAfterMs: 10_000,
    });
  });

  it("needs [[ratelimits]] in the file, in each environment", () => {
    expect(problemsIn(SOUND + limiter("{ limit = 100, period = 60 }"))).toEqual([]);
    expect(problemsIn(SOUND)).toEqual([expect.stringContaining("ROUTES[0].new_keys.binding: there is no rate limit")]);
    const services = 'services = [{ binding = "NEW_KEYS", service = "limits" }]\n';
    expect(problemsIn(SOUND + services)).toEqual([expect.stringContaining("there is no rate limit binding")]);
    const staging = `[env.staging]\ndurable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
vars.IDEMPOTENCY = {}\nvars.ROUTES = [{ path = "/a", new_keys = { binding = "NEW_KEYS" } }]\n`;
    expect(problemsIn(SOUND + limiter("{ limit = 100, period = 60 }") + staging)).toEqual([
      expect.stringContaining("env.staging.ROUTES[0].new_keys.binding: there is no rate limit"),
    ]);
  });

  it("is no origin", () => {
    const toml = `${SOUND}vars.IDEMPOTENCY = { origin = { binding = "NEW_KEYS" } }\n`;
    expect(problemsIn(toml + limiter("{ limit = 1, period = 10 }"))).toEqual([
      expect.stringContaining("IDEMPOTENCY.origin.binding: there is no service"),
    ]);
  });
});
