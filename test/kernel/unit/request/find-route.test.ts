import { describe, expect, it } from "vitest";
import { routeFinder } from "../../../../src/kernel/request/intent.ts";
import { configOf } from "../config/support.ts";

type Settings = Readonly<Record<string, unknown>>;

/** The name of the route that protects a POST; a path stands for `{ path }`. */
function found(routes: readonly (string | Settings)[], path: string, method = "POST"): string | null {
  const { routes: resolved } = configOf({
    ROUTES: routes.map((route) => (typeof route === "string" ? { path: route } : route)),
  });
  const route = routeFinder(resolved)(method, path);
  return typeof route === "string" ? route : (route?.path ?? null);
}

describe("routeFinder", () => {
  it.each([
    ["/v1/orders/:id", "/v1/ord%65rs/a%2fb"],
    ["/v1/orders/:id", "/v1/ord%65rs/%3b"],
    ["/v1/orders/:id", "/v1/orders/"],
    ["/v1/orders/:id", "//v1///orders/a/"],
    ["/v1/payments/*", "/v1/p%61yments/..%2fx"],
    ["/v1/orders", "/v1/orders;x=1"],
    ["/v1/orders", "/v1/orders%00.png"],
    ["/v1/orders", "/v1/orders%3fx"],
    ["/v1/orders", "/v1/ord%2565rs"],
    ["/v1/orders", "/V1/ORDERS"],
    ["/V1/Orders", "/v1/orders"],
    ["/v1/orders/:id{[A-Z]+}", "/V1/ORDERS/ABC"],
    ["/v1/drafts/", "/v1/drafts"],
    ["/v1/drafts/", "/v1//dr%61fts"],
    ["/:tenant", "/"],
  ])("finds %s for %s", (route, path) => {
    expect(found([route], path)).toBe(route);
    expect(found([route], path, "GET")).toBeNull();
  });

  it.each([
    ["/v1/orders", "/v1/orders/x"],
    ["/v1/orders", "/v1/order"],
    ["/v1/orders", "/x/v1/orders"],
    ["/v1/orders/:id{[A-Z]+}", "/v1/orders/abc"],
    ["/v1/orders/:id{[0-9]+}", "/V1/orders/abc"],
    ["/v1/orders/:id", "/v1/orders"],
  ])("does not find %s for %s", (route, path) => {
    expect(found([route], path)).toBeNull();
  });

  it("picks the first route that matches a plain path, however strict the others are", () => {
    const routes = [{ path: "/v1/orders/*", key: "optional" }, { path: "/v1/*" }];
    expect(found(routes, "/v1/orders/x")).toBe("/v1/orders/*");
  });

  it.each([
    [{ key: "optional" }, { key: "required" }],
    [{ unknown: "retry" }, { unknown: "hold" }],
  ])("takes the strictest where two forms match two routes: not %o, but %o", (lax, strict) => {
    const routes = [
      { path: "/open/*", ...lax },
      { path: "/v1/orders", ...strict },
    ];
    // As written it is below /open; an origin that decodes first reads it as the other path.
    expect(found(routes, "/open/..%2fv1/orders")).toBe("/v1/orders");
    expect(found(routes.toReversed(), "/open/..%2fv1/orders")).toBe("/v1/orders");
    expect(found(routes, "/open/..%2fv1/x")).toBe("/open/*");
  });

  it("compares case if nothing else distinguishes two routes", () => {
    const routes = [{ path: "/v1/Orders", key: "optional" }, "/v1/orders"];
    expect([found(routes, "/v1/Orders"), found(routes, "/v1/orders"), found(routes, "/v1/ORDERS")]).toEqual([
      "/v1/Orders",
      "/v1/orders",
      null,
    ]);
  });

  it("matches a name in either case although another route spells it differently", () => {
    const routes = ["/v1/Orders", "/v2/users/:id/orders", "/v2/Users/:id/drafts"];
    for (const path of ["/v1/Orders", "/v1/orders", "/V1/ORDERS"]) expect(found(routes, path)).toBe("/v1/Orders");
    for (const path of ["/v2/users/1/orders", "/V2/Users/1/Orders"]) expect(found(routes, path)).toBe(routes[1]);
    for (const path of ["/v2/Users/1/drafts", "/v2/users/1/DRAFTS"]) expect(found(routes, path)).toBe(routes[2]);
  });

  it("refuses to compare an odd path that is too long, but compares long plain ones", () => {
    expect(found(["/v1/*"], `/v1/${"x".repeat(20_000)}`)).toBe("/v1/*");
    expect(found(["/v1/*"], `/v1/${"%41".repeat(3_000)}`)).toBe("too-long");
    expect(found(["/v1/*"], `/v1/${"%41".repeat(3_000)}`, "GET")).toBeNull();
  });
});
