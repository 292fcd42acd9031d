import { describe, expect, it } from "vitest";

import { parsePathPattern, type PathPattern } from "../../../src/config/path-pattern.ts";
import { coversPattern } from "../../../src/config/shadowing.ts";

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

  it.each([
    ["", 'must start with "/"'],
    ["v1", 'must start with "/": write "/v1"'],
    ["//", 'has an empty segment ("//"): write one slash'],
    ["/a//b", 'has an empty segment ("//")'],
    ["/a/../b", "write the real path"],
    ["/v1*", '"*" can stand only for a whole segment: write "/v1/*"'],
    ["/a*b/c", '"*" can stand only for a whole segment'],
    ["/*/*", 'write "/:name/*" instead of "/*/*"'],
    ["/a%20b", "write the character itself"],
    ["/a?b=1", 'without query and fragment: write "/a"'],
    ["https://api.example.com/v1/:id?x=1#y", 'is a URL, and routes are paths: write "/v1/:id"'],
    ["https://api.example.com", 'write "/", and the host in origin'],
    ["/v1/orders/{id}/items", 'no braces: write "/v1/orders/:id/items"'],
    ["v1/{id}", 'write "/v1/:id"'],
    ["/a b", 'must not contain " " here'],
    ["/a{b}", 'must not contain "{" here'],
    ["/:", '":" is not a parameter: write ":name"'],
    ["/:a?/b", "only the last parameter can be optional"],
    ["/:a/jobs:run", '":" is special and allowed only at the start of a segment'],
    ["/:a{[}", "is not a regular expression"],
    ["/:a{[0-9]*}", "also matches an empty text"],
    ["/:a{^x$}", 'leave "^" and "$" out'],
    ["/:a{x|y}", "is ambiguous: write {(?:x|y)}"],
    ["/:a{[^/]+}?", 'cannot contain "/" or ":": write two routes'],
    ["/:a{[0-9]+}/a+b", '"a+b" cannot follow an expression'],
    ["/@1", 'must not contain "@" or "#" before a digit'],
    // Counterexamples from random tests: the two routers differ after an expression that may match a slash.
    ["/:e{[a-z]+/[a-z]+}/", "may match slashes, so it is allowed only at the end"],
    ["/:x{.+}/b/:p", "may match slashes, so it is allowed only at the end"],
    ["/:x{.+}/*", "may match slashes, so it is allowed only at the end"],
  ])("may not be %j", (path, message) => {
    const parsed = parsePathPattern(path);
    expect(parsed).toMatchObject({ ok: false, message: expect.stringContaining(message) });
    expect(parsed).toHaveProperty("message", expect.stringMatching(/write|leave/));
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
