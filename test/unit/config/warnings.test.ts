import { describe, expect, it } from "vitest";

import { configWarnings } from "../../../src/config/check-file.ts";
import { configOf, PAYMENTS } from "./support.ts";

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
