// The request that asks about a state: literals alone, and none at all where a value could be read in another way.

import { describe, expect, it } from "vitest";
import { paramsIn } from "../../../../src/kernel/verify/state-request.ts";
import { COMPLETE, headerOf, LIST, verificationFor } from "../../../support/unit/state-verification.ts";

const ORDERS = { path: "/v1/orders", pattern: "/v1/orders" };

async function urlOf(path: string, request: Parameters<typeof verificationFor>[1] = {}): Promise<string | null> {
  const found = await verificationFor({ ...COMPLETE, path }, request);
  return found === null ? null : found.url.replace("https://gateway.example", "");
}

describe("the address", () => {
  it.each([
    ["/s/{path:id}", { path: "/orders/o1" }, "/s/o1"],
    ["/s/{path:id}/state", { path: "/orders/a.b~c" }, "/s/a.b~c/state"],
    ["/s/{path:id}", { path: "/orders/a:b@c,d+e" }, "/s/a:b@c,d+e"],
    ["/s/{key}", { key: "k:1" }, "/s/k%3A1"],
    ["/s/{key}", { key: "k1", settings: { forward_key: "charge" } }, "/s/k1%3Acharge"],
    ["/s?ref={json:/a/b}", { body: { a: { b: 12 } } }, "/s?ref=12"],
    ["/s?ref={json:/a}", { body: { a: "2026-11-27T05:00:00+01:00" } }, "/s?ref=2026-11-27T05%3A00%3A00%2B01%3A00"],
    ["/s?ref={query:ref}&all=1", { path: "/orders/o1?ref=r" }, "/s?ref=r&all=1"],
    ["/s?ref={header:x-ref}", { headers: { "X-Ref": "r" } }, "/s?ref=r"],
    ["/s?query=ref:'{json:/a}'", { body: { a: "r-1" } }, "/s?query=ref:%27r-1%27"],
    [
      "/s?ref={form:metadata[ref]}",
      { body: "metadata%5Bref%5D=r1", headers: { "Content-Type": "application/x-www-form-urlencoded" } },
      "/s?ref=r1",
    ],
  ])("%s of %j is %s", async (path, request, url) => expect(await urlOf(path, request)).toBe(url));

  it.each([
    ["/s/{path:id}", { path: "/orders/a%2Fb" }],
    ["/s/{path:id}", { path: "/orders/a;b" }],
    ["/s/{path:id}", { path: "/orders//o1" }],
    ["/s/{path:id}", { path: "/Orders/o1" }],
    ["/s/{path:id}", { path: "/orders/o1/" }],
    ["/s/{json:/a}", { body: { a: ".." } }],
    ["/s/{json:/a}", { body: { a: "a/b" } }],
    ["/s/{json:/a}", { body: { a: "a b" } }],
    ["/s/{json:/a}", { body: { a: "ä" } }],
    ["/s/{json:/a}", { body: { a: "" } }],
    ["/s?ref={json:/a}", { body: { a: "a,b" } }],
    ["/s?ref={json:/a}", { body: { a: "a*" } }],
    ["/s?ref={json:/a}", { body: { a: " a" } }],
    ["/s?ref={json:/a}", { body: { a: "a&b" } }],
    ["/s?ref={json:/a}", { body: { a: true } }],
    ["/s?ref={json:/a}", { body: { a: null } }],
    ["/s?ref={json:/a}", { body: {} }],
    ["/s?ref={json:/a}", { body: '{"a":"1","a":"2"}' }],
    ["/s?ref={json:/a}", { body: "no JSON" }],
    ["/s?ref={json:/a}", { body: '{"a":1.00000000000000000001}' }],
    ["/s?query=ref:'{json:/a}'", { body: { a: "x'or:'y" } }],
    ["/s?query=ref:'{json:/a}'", { body: { a: "a:b" } }],
    ["/s?ref={query:ref}", { path: "/orders/o1?ref=a&ref=b" }],
    ["/s?ref={header:x-ref}", {}],
  ])("%s of %j has none", async (path, request) => expect(await urlOf(path, request)).toBeNull());

  it("has none where the body is not held", async () => {
    expect(await verificationFor(LIST, { ...ORDERS, body: { reference: "r", amount: 1 } })).not.toBeNull();
    expect(await verificationFor(LIST, { ...ORDERS, body: null })).toBeNull();
  });
});

describe("the question", () => {
  it("has literals in place of the request's values", async () => {
    const found = await verificationFor(LIST, { ...ORDERS, body: { reference: "r1", amount: 1.5 } });
    expect(found?.state).toEqual({
      test: {
        kind: "list",
        list: "/data",
        match: [
          { at: "/reference", oneOf: [{ text: "r1" }] },
          { at: "/amount", oneOf: [{ text: "1.5" }] },
        ],
        complete: [{ at: "/has_more", oneOf: [false] }],
      },
      missing: "open",
      settleMs: 60_000,
      answer: { body: "item", status: 201, location: "/v1/orders/{/id}" },
    });
    expect(found).not.toHaveProperty("namesKey");
  });

  it("may have a value in several places", async () => {
    const twice = { ...LIST, path: "/s?ref={form:a}", match: { "/ref": ["{form:a}"] } };
    const form = { ...ORDERS, body: "a=r1", headers: { "Content-Type": "application/x-www-form-urlencoded" } };
    expect((await verificationFor(twice, form))?.url).toMatch(/\/s\?ref=r1$/);
  });

  it("is for its form of the key alone if it names the key", async () => {
    expect(await verificationFor({ ...COMPLETE, path: "/s/{key}" })).toMatchObject({ namesKey: true });
    expect(
      await verificationFor({ ...LIST, match: { "/key": ["{key}"] } }, { ...ORDERS, body: { reference: "r" } }),
    ).toMatchObject({
      namesKey: true,
    });
  });

  it("asks caches and the origin for an answer of now that can be read", async () => {
    const found = await verificationFor(COMPLETE, {
      headers: { "Cache-Control": "max-stale", Pragma: "x", "Accept-Encoding": "br" },
    });
    expect(headerOf(found?.headers ?? [], "cache-control")).toBe("no-cache");
    expect(headerOf(found?.headers ?? [], "accept-encoding")).toBe("identity");
    expect(headerOf(found?.headers ?? [], "pragma")).toBeUndefined();
    expect(headerOf(found?.headers ?? [], "authorization")).toBe("Bearer a");
  });
});

describe("the parameters of a path", () => {
  it.each([
    ["/a/:id", "/a/1", { id: "1" }],
    ["/a/:id/b/:other", "/a/1/b/2", { id: "1", other: "2" }],
    ["/a/:id{[0-9]+}", "/a/12", { id: "12" }],
    ["/a/:id?", "/a/1", { id: "1" }],
    ["/a/:id?", "/a", {}],
    ["/a/*", "/a/1/2", {}],
    ["/:id/*", "/a/1/2", { id: "a" }],
    ["/*/:id", "/a/1", { id: "1" }],
    ["/a/:id", "/A/1", null],
    ["/a/:id", "/a/1/2", null],
    ["/a/:id{.+}", "/a/1/2", null],
    ["/a/:id", "/a/%31", null],
    ["/a/:id", "/a/1;v=2", null],
  ])("%s in %s are %j", (pattern, path, params) => {
    const found = paramsIn(pattern, path);
    expect(found === null ? null : Object.fromEntries(found)).toEqual(params);
  });
});
