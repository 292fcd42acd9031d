import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Route } from "../../../../src/kernel/config/resolved.ts";
import { RotatingTokens } from "../../../../src/kernel/request/rotating-tokens.ts";
import { routeOf } from "../config/support.ts";

const HOUR_S = 3600;

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const bearer = (claims: unknown, scheme = "Bearer"): string =>
  `${scheme} ${base64url({ alg: "ES256" })}.${base64url(claims)}.c2ln`;

const expiringIn = (seconds: number): string => bearer({ sub: "é", exp: Math.floor(Date.now() / 1000) + seconds });

const warn = vi.spyOn(console, "warn");
beforeEach(() => warn.mockImplementation(() => undefined));
afterEach(() => warn.mockClear());

/** Which routes are reported after these requests. */
function reported(route: Route, credentials: readonly (string | null)[]): readonly string[] {
  const routes: string[] = [];
  const tokens = new RotatingTokens((path) => routes.push(path));
  for (const authorization of credentials) {
    tokens.look(route, new Headers(authorization === null ? {} : { authorization }));
  }
  return routes;
}

describe("a token that expires before the record does", () => {
  const route = routeOf({ retention: "24h" });

  it("is told once, whatever comes after it, and no part of it is logged", () => {
    const token = expiringIn(HOUR_S);
    expect(reported(route, [token, token, expiringIn(60)])).toEqual(["/v1/payments"]);
    expect(warn).toHaveBeenCalledTimes(1);
    const logged = JSON.stringify(warn.mock.calls);
    expect(logged).toContain("identity:user");
    for (const part of token.split(/[ .]/).slice(1)) expect(logged).not.toContain(part);
  });

  it("is told also if it has expired already, or comes after others", () => {
    expect(reported(route, [expiringIn(-HOUR_S)])).toHaveLength(1);
    expect(reported(route, [null, "Bearer opaque", expiringIn(100 * HOUR_S), expiringIn(HOUR_S)])).toHaveLength(1);
  });

  it("is looked for in a few requests only", () => {
    const opaque = Array.from({ length: 8 }, () => "Bearer opaque");
    expect(reported(route, [...opaque.slice(1), expiringIn(HOUR_S)])).toHaveLength(1);
    expect(reported(route, [...opaque, expiringIn(HOUR_S)])).toEqual([]);
  });

  it.each<readonly [string, string]>([
    ["lives longer than the record", expiringIn(25 * HOUR_S)],
    ["never expires", bearer({ sub: "a" })],
    ["says no number", bearer({ exp: "soon" })],
    ["has claims that are no object", bearer(null)],
    ["is not JSON", "Bearer e30.bm90IGpzb24.c2ln"],
    ["is not base64url", "Bearer e30.A.c2ln"],
    ["is longer than 8 KiB", bearer({ exp: 1, padding: "x".repeat(9000) })],
    ["has another scheme", bearer({ exp: 1 }, "DPoP")],
  ])("is no token that %s", (_, credential) => {
    expect(reported(route, [credential])).toEqual([]);
  });

  it("does not matter where the scope is something else", () => {
    for (const scope of [["header:x-api-key"], ["cookie:session"], ["none"]]) {
      expect(reported(routeOf({ scope }), [expiringIn(HOUR_S)])).toEqual([]);
    }
  });
});
