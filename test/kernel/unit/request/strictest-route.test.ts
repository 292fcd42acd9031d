import { describe, expect, it } from "vitest";
import { strictestRoute } from "../../../../src/kernel/request/intent.ts";
import { routeOf } from "../config/support.ts";

const VERIFY = { unknown: "verify", verify: "/by-key/{key}" };

describe("strictestRoute", () => {
  it.each([
    ["a required key", { unknown: "retry", key: "required" }, { unknown: "hold", key: "optional" }],
    ["an unknown outcome that is held", { unknown: "hold" }, { ...VERIFY }],
    ["an unknown outcome that is asked about", { ...VERIFY }, { unknown: "retry" }],
    ["failing closed", { unknown: "retry" }, { unknown: "retry", on_store_failure: "open" }],
  ])("prefers %s, in either order", (_what, strict, lax) => {
    const [one, other] = [routeOf(strict), routeOf(lax)];
    expect(strictestRoute([one, other])).toBe(one);
    expect(strictestRoute([other, one])).toBe(one);
  });

  it("prefers the first of equally strict routes", () => {
    const [one, other] = [routeOf({ retention: "1h" }), routeOf({ retention: "2h" })];
    expect(strictestRoute([one, other])).toBe(one);
    expect(strictestRoute([other, one])).toBe(other);
  });

  it("is null without routes", () => expect(strictestRoute([])).toBeNull());
});
