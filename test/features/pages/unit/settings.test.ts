// The setting `cors`: which pages may read answers.

import { describe, expect, it } from "vitest";

import { configWarnings } from "../../../../src/cli/check/file.ts";
import { isListed, parsePageOrigin } from "../../../../src/kernel/config/page-origin.ts";
import { configOf, PAYMENTS, routeOf } from "../../../kernel/unit/config/support.ts";

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
      scope: ["header:X-Api-Key", "header:authorization", "cookie:session"],
      fingerprint: { headers: ["X-Api-Version"] },
      cors: {
        origins: [SHOP],
        allow_headers: ["X-Api-Key", "X-Trace"],
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
        "x-api-key",
        "x-api-version",
        "X-Trace",
      ],
      exposeHeaders: ["Location"],
      preflight: "answer",
      maxAgeMs: 3_600_000,
    });
  });

  // feature: key-sources begins
  it("allows the headers of keys", () => {
    const { cors } = routeOf({
      key_from: ["header:X-Request-Key", ["json:/a", "header:X-Try"]],
      cors: { origins: [SHOP] },
    });
    expect(cors?.allowHeaders).toEqual(expect.arrayContaining(["x-request-key", "x-try"]));
  });
  // feature: key-sources ends

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
