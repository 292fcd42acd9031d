import { describe, expect, it } from "vitest";

import { configWarnings } from "../../../src/config/check-file.ts";
import { describeConfig } from "../../../src/config/describe.ts";
import { configOf, PAYMENTS, problemOf } from "./support.ts";

const VERIFY = { unknown: "verify", verify: "/v1/by-key/{key}" };

const pathsOf = (settings: Readonly<Record<string, unknown>>): readonly string[] =>
  configWarnings(configOf({ ROUTES: [{ ...PAYMENTS, ...settings }] })).map(({ path }) => path);

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

describe("a route that fails open", () => {
  it("gets a warning if it repeats nothing in doubt only by default, and a problem if that is written", () => {
    expect(pathsOf({ on_store_failure: "open" })).toEqual(["ROUTES[0].on_store_failure"]);
    expect(pathsOf({ on_store_failure: "open", unknown: "retry" })).toEqual([]);
    expect(problemOf({ on_store_failure: "open", unknown: "hold" })).toContain(
      'must not be "open" with unknown = "hold"',
    );
  });
});

describe("what check says of a route", () => {
  it.each([
    [{}, "/v1/payments: no second effect: after an unknown outcome, retries get 409 until an operator decides"],
    [{ unknown: "retry" }, "/v1/payments: a second effect is possible"],
    [VERIFY, "/v1/payments: no second effect: after an unknown outcome, a retry runs only if the origin"],
    [{ on_store_failure: "open" }, 'is unprotected (on_store_failure = "open")'],
  ])("%j", (settings, promise) => {
    expect(describeConfig(configOf({ ROUTES: [{ ...PAYMENTS, ...settings }] }))).toContain(promise);
  });
});
