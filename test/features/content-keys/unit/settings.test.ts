// The entry of `key_from` with `digest`: what it takes, what it publishes, and what it contradicts.

import { describe, expect, it } from "vitest";
import { keySourceNames } from "../../../../src/kernel/config/key-source.ts";
import { wellKnownResponse } from "../../../../src/kernel/request/well-known.ts";
import { configOf, problemOf, problemsOf, routeOf } from "../../../kernel/unit/config/support.ts";

type Fields = Readonly<Record<string, unknown>>;

const HEADER = "header:Idempotency-Key";
const CONTENT = { digest: ["json:/order_id", "json:/amount"], window: "10m", repeat: "replay" };
const settings = (content: Fields, more: Fields = {}): Fields => ({
  key_from: [HEADER, { ...CONTENT, ...content }],
  ...more,
});

describe("the entry", () => {
  it("is read, named and published", async () => {
    const route = routeOf(settings({}));
    expect(route.keyFrom).toMatchObject([{ kind: "header", name: "Idempotency-Key" }]);
    expect(route.contentKey).toMatchObject({ windowMs: 600_000, repeat: "replay" });
    expect(route.contentKey?.members).toMatchObject([{ name: "/order_id" }, { name: "/amount" }]);
    expect(keySourceNames(route)).toEqual(["header:idempotency-key", "digest of json:/order_id, json:/amount"]);
    const policy: unknown = await wellKnownResponse(configOf({ ROUTES: [{ path: "/pay", ...settings({}) }] })).json();
    expect(policy).toMatchObject({
      responseHeaders: { keySource: "Idempotency-Key-Source" },
      routes: [{ key: { from: [HEADER, CONTENT] } }],
    });
  });

  it("may be the only one, and may count all that the fingerprint counts", () => {
    const route = routeOf({ key_from: [{ digest: "request", window: "24h", repeat: "refuse" }] });
    expect([route.keyFrom, route.contentKey]).toEqual([[], { members: null, windowMs: 86_400_000, repeat: "refuse" }]);
  });

  it("is no part of a route that does not write it", () => {
    expect(routeOf({}).contentKey).toBeNull();
    expect(routeOf({ key_from: [HEADER] }).contentKey).toBeNull();
  });

  it.each([
    ["no window", { window: undefined }, "must have digest"],
    ["no repeat", { repeat: undefined }, "must have digest"],
    ["another repeat", { repeat: "again" }, "must have digest"],
    ["a window that is none", { window: "soon" }, "window "],
    ["a short window", { window: "59s" }, 'window must be from "1m" to "24h"'],
    ["a long window", { window: "25h" }, 'window must be from "1m" to "24h"'],
    ["no member", { digest: [] }, "digest must name 1 to 8 places"],
    ["a member twice", { digest: ["json:/a", "json:/a"] }, 'digest lists "json:/a" twice'],
    ["a member that is no place", { digest: ["json:a"] }, "must be a JSON pointer"],
    ["another member", { more: 1 }, "must have digest"],
  ])("has to have %s otherwise", (_, content, message) => {
    const { window, repeat, ...rest } = { ...CONTENT, ...content };
    const written = {
      ...rest,
      ...(window === undefined ? {} : { window }),
      ...(repeat === undefined ? {} : { repeat }),
    };
    expect(problemOf({ key_from: [HEADER, written] })).toContain(message);
  });

  it("comes last", () => {
    expect(problemOf({ key_from: [CONTENT, HEADER] })).toContain("write that one last");
    expect(problemOf({ key_from: [CONTENT, CONTENT] })).toContain("write that one last");
  });
});

// feature: outbox begins
it("contradicts a step for whoever gets the result's event", () => {
  const DESTINATIONS = [{ name: "next", queue: "NEXT" }];
  const published = (more: Fields): Fields => ({
    ROUTES: [{ path: "/pay", ...settings({}), publish: [{ to: "next", type: "paid", ...more }] }],
    DESTINATIONS,
    NEXT: {},
  });
  expect(problemsOf(published({ step: "ship" })).map(({ message }) => message)).toEqual([
    expect.stringContaining("publish has a step"),
  ]);
  expect(configOf(published({})).routes).toHaveLength(1);
});
// feature: outbox ends

describe("what it contradicts", () => {
  it.each([
    ["a scope that strangers share", {}, { scope: ["none"] }, "scope: (none) names no credential"],
    ["an address as scope", {}, { scope: ["ip"] }, "scope: (ip) names no credential"],
    [
      "a lock as long as the window",
      { window: "1m" },
      { lock: "1m" },
      'which must exceed lock (60s): write window = "2m"',
    ],
    [
      "an unknown outcome that is dropped within the window",
      { window: "24h" },
      { retention: "10m", unknown_retention: "10m" },
      "unknown_retention: must not be shorter than the window of key_from (24h)",
    ],
    ["remember", {}, { remember: "30d" }, "remember: does not go with keys from content"],
    [
      "a request of which no body counts",
      { digest: "request" },
      { fingerprint: { body: "none" } },
      'key_from: has digest = "request"',
    ],
    ["a step for the origin", {}, { forward_key: "charge" }, "forward_key: does not go with keys from content"],
  ])("%s", (_, content, more, message) => {
    expect(problemOf(settings(content, more))).toContain(message);
  });

  it("nothing of these without it, and a member's digest leaves the fingerprint alone", () => {
    expect(routeOf({ key_from: [HEADER], scope: ["none"], remember: "30d" }).contentKey).toBeNull();
    expect(routeOf(settings({}, { fingerprint: { body: "none" } })).contentKey).not.toBeNull();
  });

  it("is said of the table that writes it", () => {
    const env = { IDEMPOTENCY: { remember: "30d" }, ROUTES: [{ path: "/pay", ...settings({}) }] };
    expect(problemsOf(env).map(({ path }) => path)).toEqual(["ROUTES[0].remember"]);
  });
});
