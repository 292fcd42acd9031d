// The setting `new_keys`: how many keys a caller may begin.

import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { routeOf } from "./support.ts";

describe("new_keys", () => {
  const SOUND = `
compatibility_date = "2026-10-01"
compatibility_flags = ["enable_request_signal"]
routes = ["api.example.com/*"]
migrations = [{ tag = "v1", new_sqlite_classes = ["KeyShard"] }]
durable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
vars.ROUTES = [{ path = "/v1/payments", new_keys = "NEW_KEYS" }]
`;
  const limiter = (simple: string, others = ""): string =>
    `ratelimits = [{ name = "NEW_KEYS", namespace_id = "1001", simple = ${simple}${others} }]\n`;
  const problemsIn = (toml: string): readonly string[] =>
    checkWranglerConfig(parse(toml)).flatMap(({ problems }) =>
      problems.map(({ path, message }) => `${path}: ${message}`),
    );

  it("needs a binding at start", () => {
    expect(routeOf({ new_keys: "NEW_KEYS" }, { NEW_KEYS: {} }).newKeys).toBe("NEW_KEYS");
    expect(routeOf({ new_keys: "none" }).newKeys).toBeNull();
  });

  it("needs [[ratelimits]] in the file, in each environment", () => {
    expect(problemsIn(SOUND + limiter("{ limit = 100, period = 60 }"))).toEqual([]);
    expect(problemsIn(SOUND)).toEqual([expect.stringContaining("ROUTES[0].new_keys: there is no rate limit")]);
    const services = 'services = [{ binding = "NEW_KEYS", service = "limits" }]\n';
    expect(problemsIn(SOUND + services)).toEqual([expect.stringContaining("there is no rate limit binding")]);
    const staging = `[env.staging]\ndurable_objects.bindings = [{ name = "KEY_SHARD", class_name = "KeyShard" }]
vars.IDEMPOTENCY = {}\nvars.ROUTES = [{ path = "/a", new_keys = "NEW_KEYS" }]\n`;
    expect(problemsIn(SOUND + limiter("{ limit = 100, period = 60 }") + staging)).toEqual([
      expect.stringContaining("env.staging.ROUTES[0].new_keys: there is no rate limit"),
    ]);
  });

  it("is no origin", () => {
    const toml = `${SOUND}vars.IDEMPOTENCY = { origin = { binding = "NEW_KEYS" } }\n`;
    expect(problemsIn(toml + limiter("{ limit = 1, period = 10 }"))).toEqual([
      expect.stringContaining("IDEMPOTENCY.origin.binding: there is no service"),
    ]);
  });
});
