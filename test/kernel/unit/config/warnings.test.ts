import { describe, expect, it } from "vitest";

import { checkWranglerConfig, configWarnings } from "../../../../src/cli/check/file.ts";
import { describeConfig } from "../../../../src/cli/check/describe.ts";
import { configOf, PAYMENTS } from "./support.ts";

const VERIFY = { unknown: "verify", verify: "/v1/by-key/{key}" };

/** Each is about the route's protection. */
function pathsOf(settings: Readonly<Record<string, unknown>>): readonly string[] {
  const warnings = configWarnings(configOf({ ROUTES: [{ ...PAYMENTS, ...settings }] }));
  expect(warnings.filter(({ code }) => code !== "protection-weakened")).toEqual([]);
  return warnings.map(({ path }) => path);
}

describe("a route that asks the origin with its client's credential", () => {
  it.each([[["header:x-tenant"]], [["header:x-tenant", "ip"]], [["ip"]], [["none"]], [["header:monkey"]]])(
    "gets a warning if its scope has no credential: %j",
    (scope) => {
      expect(pathsOf({ ...VERIFY, scope })).toEqual(["ROUTES[0].scope"]);
    },
  );

  it.each([
    [["header:authorization"]],
    [["header:x-tenant", "header:authorization"]],
    [["cookie:session"]],
    [["header:x-api-key"]],
    [["header:cf-access-jwt-assertion"]],
    [["header:x-auth-token"]],
  ])("is fine where it names one: %j", (scope) => {
    expect(pathsOf({ ...VERIFY, scope })).toEqual([]);
  });

  it("gets no warning by default, or if the origin is not asked", () => {
    expect(pathsOf(VERIFY)).toEqual([]);
    expect(pathsOf({ unknown: "hold", scope: ["header:x-tenant"] })).toEqual([]);
  });
});

describe("a jurisdiction", () => {
  const warned = (defaults: object, jurisdiction: string): readonly string[] =>
    configWarnings(
      configOf({
        IDEMPOTENCY: { origin: "https://origin.example", ...defaults },
        ROUTES: [PAYMENTS, { path: "/b", jurisdiction }],
      }),
    ).map(({ path, message }) => `${path}: ${message}`);

  it("of a route alone leaves the audit log and the totals anywhere, and a warning says so", () => {
    expect(warned({}, "eu")).toEqual([
      expect.stringContaining(
        'ROUTES[1].jurisdiction: keeps the records there, and the audit log and the totals anywhere: write jurisdiction = "eu"',
      ),
    ]);
    expect(warned({ jurisdiction: "eu" }, "eu")).toEqual([]);
  });
});

describe("settings that are right together for webhooks alone", () => {
  const others = { unknown: "retry", fingerprint: { body: "none" } };
  const LOOSE = { scope: ["none"], ...others };
  const warned = (defaults: object, ...routes: readonly object[]): readonly string[] => {
    const [top] = checkWranglerConfig({
      name: "api",
      main: "src/index.ts",
      compatibility_date: "2026-10-01",
      compatibility_flags: ["enable_request_signal"],
      durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["KeyShard"] }],
      vars: { IDEMPOTENCY: { origin: "https://api.example.net", location_hint: "weur", ...defaults }, ROUTES: routes },
    });
    expect(top?.problems).toEqual([]);
    return (top?.warnings ?? []).map(({ code, path, message }) => `${code}: ${path} ${message}`);
  };

  it("are warned of in each route that inherits one of them", () => {
    expect(warned(LOOSE, PAYMENTS, { path: "/webhooks/a", ...LOOSE }, { path: "/v1/orders", ...others })).toEqual([
      expect.stringMatching(/^protection-weakened: ROUTES\[0\] takes scope = .*, unknown = .*, body = .* from/),
      expect.stringMatching(/^protection-weakened: ROUTES\[2\] takes scope = \["none"\] from/),
    ]);
  });

  it("are fine where a route writes them for itself, or where one of them is stricter", () => {
    expect(warned({}, { path: "/webhooks/a", ...LOOSE }, PAYMENTS)).toEqual([]);
    expect(warned({ ...others }, { path: "/v1/reports" })).toEqual([]);
    expect(warned({ ...LOOSE, unknown: "hold" }, { path: "/v1/reports" })).toEqual([]);
  });

  it("are warned of where a scope says only what a request is about, unless that is written", () => {
    const shared = expect.stringMatching(
      /^protection-weakened: ROUTES\[0\]\.scope \(path, json:\/id\) tells no callers apart/,
    );
    const scope = ["path", "json:/id"];
    expect(warned({}, { path: "/v1/reports", scope })).toEqual([shared]);
    expect(warned({ scope }, { path: "/v1/reports" })).toEqual([shared]);
    expect(warned({}, { path: "/v1/reports", scope: ["none", ...scope] })).toEqual([]);
    expect(warned({ scope }, { path: "/v1/reports", scope: ["header:authorization", ...scope] })).toEqual([]);
  });

  it("are warned of one by one where money moves, except that a call is made again", () => {
    expect(warned({ scope: ["none"] }, PAYMENTS)).toEqual([expect.stringContaining('scope = ["none"] from')]);
    expect(warned({ fingerprint: { body: "none" } }, PAYMENTS)).toEqual([
      expect.stringContaining('body = "none" from'),
    ]);
    expect(warned({ unknown: "retry" }, PAYMENTS)).toEqual([]);
    expect(warned({ scope: ["none"] }, { ...PAYMENTS, scope: ["ip"] }, { path: "/webhooks/payments" })).toEqual([]);
  });
});

describe("a route that fails open", () => {
  it("gets a warning if it repeats nothing whose outcome is unknown by default", () => {
    expect(pathsOf({ on_store_failure: "open" })).toEqual(["ROUTES[0].on_store_failure"]);
    expect(pathsOf({ on_store_failure: "open", unknown: "retry" })).toEqual([]);
  });
});

describe("a route that leaves something out of its fingerprint", () => {
  it("gets a warning if that probably decides the effect", () => {
    const except = (...pointers: string[]) => ({ fingerprint: { body: "json", except: pointers } });
    expect(pathsOf(except("/timestamp", "/meta/nonce", "/totally", "/amount/at"))).toEqual([]);
    expect(pathsOf(except("/amount"))).toEqual(["ROUTES[0].fingerprint.except"]);
    expect(pathsOf(except("/items/0/unitPrice", "/t"))).toEqual(["ROUTES[0].fingerprint.except"]);
    expect(pathsOf({ fingerprint: { body: "json", only: ["/amount"] } })).toEqual([]);
    expect(pathsOf({ fingerprint: { query_except: ["to_account", "t"] } })).toEqual([
      "ROUTES[0].fingerprint.query_except",
    ]);
  });
});

describe("what check says of a route", () => {
  it("says nothing of what is not compared if all of it is", () => {
    const fingerprint = { body: "json", headers: ["x-api-version"], query: "sorted" };
    expect(describeConfig(configOf({ ROUTES: [{ ...PAYMENTS, fingerprint }] }))).not.toContain("not compared");
  });
});
