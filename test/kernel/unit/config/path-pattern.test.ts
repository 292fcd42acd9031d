import { describe, expect, it } from "vitest";

import { parsePathPattern, type PathPattern } from "../../../../src/kernel/config/path-pattern.ts";
import { coversPattern } from "../../../../src/kernel/config/shadowing.ts";

function alternatives(path: string): readonly PathPattern[] {
  const patterns = parsePathPattern(path);
  if (!patterns.ok) throw new Error(`${path}: ${patterns.message}`);
  return patterns.value;
}

function covers(wide: string, narrow: string): boolean {
  const all = alternatives(wide);
  return alternatives(narrow).every((one) => all.some((other) => coversPattern(other, one)));
}

describe("a path pattern", () => {
  it.each([
    "/",
    "/*",
    "/v1",
    "/v1/",
    "/v1/*",
    "/v1/:id",
    "/v1/:id/",
    "/:a/*",
    "/v1/:id?",
    "/:id?",
    "/v1/*/items",
    "/v1/:id{[0-9]+}",
    "/v1/:id{[0-9]+}/items",
    "/v1/:id{[0-9]+}/:item",
    "/v1/:id{[0-9]{4}}",
    "/:id{(?:a|b)}/x",
    "/:path{.+}",
    "/v1/:id{[^/]+}/:b",
    "/v1/:id{[0-9]+}?",
    "/jobs:run",
    "/café",
    "/a+b",
    "/v1.0/x",
  ])("may be %s", (path) => {
    expect(parsePathPattern(path)).toMatchObject({ ok: true });
  });
});

describe("a pattern that covers another", () => {
  it.each([
    ["/*", "/"],
    ["/*", "/a/b"],
    ["/*", "/*"],
    ["/v1/*", "/v1"],
    ["/v1/*", "/v1/"],
    ["/v1/*", "/v1/:id"],
    ["/v1/*", "/v1/a/*"],
    ["/v1/*", "/v1/:x{.+}"],
    ["/v1/:id", "/v1/me"],
    ["/v1/:id", "/v1/:other"],
    ["/v1/:id", "/v1/:n{[0-9]+}"],
    ["/:a/*", "/b/c"],
    ["/v1/:id?", "/v1"],
    ["/v1/:id?", "/v1/x"],
    ["/v1/:n{[0-9]+}", "/v1/42"],
    ["/v1/:n{[0-9]+}", "/v1/:m{[0-9]+}"],
    ["/v1/*/x", "/v1/:id/x"],
    ["/:x{.+}", "/:y{.+}"],
    ["/v1/:id", "/v1/:s{[^/]+}"],
  ])("%s covers %s", (wide, narrow) => {
    expect(covers(wide, narrow)).toBe(true);
  });

  it.each([
    ["/v1", "/v1/"],
    ["/v1/", "/v1"],
    ["/v1/a", "/v1/:id"],
    ["/v1/:id", "/v1/*"],
    ["/v1/:id", "/v1"],
    ["/v1/:id", "/v1/"],
    ["/v1/:n{[0-9]+}", "/v1/a"],
    ["/v1/:n{[0-9]+}", "/v1/:id"],
    ["/v1/:n{[0-9]+}", "/v1/1a"],
    ["/v1/a/*", "/v1/*"],
    ["/v1/:id", "/v1/:x{.+}"],
    ["/v1/:id/x", "/v1/*/x"],
    ["/:x{.+}", "/a"],
    ["/v1/*", "/v10"],
    ["/v1/:id", "/V1/a"],
    ["/a/:b?", "/a/b/c"],
  ])("%s does not cover %s", (wide, narrow) => {
    expect(covers(wide, narrow)).toBe(false);
  });
});
