import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostnameOf, isHost } from "../../../../src/kernel/request/host.ts";
import { operatorPathMatcher } from "../../../../src/kernel/request/operator-path.ts";
import { plainestPath } from "../../../../src/kernel/request/path.ts";
import { operatorPathForm } from "../../../support/operator-path-forms.ts";

const match = operatorPathMatcher("/_onceway");

/** Of a target as it comes over the wire. */
function matchTarget(target: string, matcher = match): string {
  const url = `http://api.example${target}`;
  return matcher(url, new URL(url).pathname);
}

describe("the operator path", () => {
  it.each(["/_onceway", "/_onceway/records", "/_onceway/console/records?key=a%2fb", "/_onceway?x=/../y"])(
    "is plain in this spelling: %s",
    (target) => expect(matchTarget(target)).toBe("plain"),
  );

  it.each([
    "/x/../_onceway/health",
    "/_onceway\\health",
    "/_Onceway/health",
    "/_ONCEWAY",
    "/%5Fonceway",
    "/%255fonceway",
    "/%25255fonceway",
    "//_onceway",
    "/./_onceway",
    "/_onceway/./health",
    "/_onceway/",
    "/_onceway;x/health",
    "/_onceway./health",
    "/_onceway%20/health",
    "/_onceway%00/health",
    "/_onceway%00.html",
    "/_onceway%3fx",
    "/.../_onceway",
    "/x%2f..%2f_onceway",
    "/x/..;/_onceway/health",
    "/b%2f..%2f_onceway%2f%2f..%2fx",
    "/%c1%9fonceway",
    "/%u005fonceway",
    "/%EF%BC%BFonceway",
  ])("has forms that are never served: %s", (target) => expect(matchTarget(target)).toBe("form"));

  it.each([
    "/",
    "/v1/_onceway",
    "/v1/x%2f.%2f_onceway",
    "/v1/orders/_onceway/x",
    "/_oncewayward",
    "/_oncewa",
    "/once/way",
    "/v1/%5fonceway",
    "/.well-known/idempotency",
    "/v1/a%2fb;c/../d",
  ])("is not %s", (target) => expect(matchTarget(target)).toBe("none"));

  it("is recognised in every disguised form", () => {
    fc.assert(
      fc.property(operatorPathForm, (form) => {
        expect(matchTarget(form)).toBe("form");
      }),
      { numRuns: 20_000 },
    );
  });

  it("may have more segments, and capital letters", () => {
    const matcher = operatorPathMatcher("/Internal/Ops");
    expect(matchTarget("/Internal/Ops/health", matcher)).toBe("plain");
    for (const form of ["/internal/ops/health", "/Internal//Ops", "/Internal%2fOps/health", "/Internal/x/../Ops"]) {
      expect(matchTarget(form, matcher)).toBe("form");
    }
    expect(matchTarget("/Internal/Other", matcher)).toBe("none");
  });

  it.each([
    ["dots", `/%41${".".repeat(64_000)}x`],
    ["bytes that are no UTF-8", "/%e0%80%80".repeat(13_000)],
    ["the same, escaped twice", `/${"%25ed%a0%80".repeat(12_000)}`],
    ["steps", `/..%2f${"a/".repeat(32_000)}`],
  ])("is matched quickly despite many %s", (_, path) => {
    const [begun, before] = [process.cpuUsage(), performance.now()];
    expect([matchTarget(path), plainestPath(path) === "/_onceway"]).toEqual(["none", false]);
    // A few milliseconds; without the bound it takes 40 to 10,000. Uses the lesser of two clocks, so that load does not count.
    const { user } = process.cpuUsage(begun);
    expect(Math.min(user / 1000, performance.now() - before)).toBeLessThan(50);
  });

  it("takes a bounded time for a path of endless escapes", () => {
    expect(matchTarget(`/_once%${"25".repeat(8_000)}way`)).toBe("none");
  });
});

describe("a host", () => {
  it.each(["x", "api.example.com", "API.example.com:8443", "127.0.0.1:80", "[::1]", "[::1]:8787", "x_y-z", "x:", null])(
    "may be %s",
    (host) => expect(isHost(host)).toBe(true),
  );

  it.each([
    "",
    "x/_onceway/health?",
    "x?a",
    "x#a",
    "x\\y",
    "a@b",
    "u:p@b",
    "x y",
    "x\ty",
    "x\u0001y",
    "x\u007f",
    "x, y",
    "x,y",
    "x:80:80",
    "x:port",
    "[::1",
    "x%2fy",
    "%6fps.example.com",
    "ｏps.example.com",
    ":80",
  ])("is not %j", (host) => expect(isHost(host)).toBe(false));

  it("is compared without port and case", () => {
    expect(hostnameOf("OPS.example.com:8443")).toBe("ops.example.com");
    expect(hostnameOf("[::1]:80")).toBe("[::1]");
    expect(hostnameOf(null)).toBeNull();
  });
});
