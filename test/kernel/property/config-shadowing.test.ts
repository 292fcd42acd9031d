// Compares shadowing with Hono's own routers: a route that the configuration calls unreachable must never be reached with
// either router, and both routers accept every valid pattern.

import * as fc from "fast-check";
import { Hono } from "hono";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { describe, expect, it } from "vitest";

import { parsePathPattern } from "../../../src/kernel/config/path-pattern.ts";
import { coversPattern, findShadows, mayOverlap, type RouteMatcher } from "../../../src/kernel/config/shadowing.ts";

// Few words, so that patterns overlap often.
const word = fc.constantFrom("a", "b", "v1", "12", "a-b");
const segment = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 2, arbitrary: fc.constantFrom(":p", ":q") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ":n{[0-9]+}",
      ":m{[0-9]+}",
      ":w{[a-z]+}",
      ":o{(?:a|b)}",
      ":g{(a|12)}",
      ":x{.+}",
      ":s{[^/]+}",
      ":d{\\d{2}}",
      ":e{[a-z]+/[a-z]+}",
    ),
  },
  { weight: 1, arbitrary: fc.constant("*") },
);
const ending = fc.constantFrom("", "", "", "/", "/*", "/:z?", "/:k{[0-9]+}?");
const pattern = fc
  .tuple(fc.array(segment, { maxLength: 3 }), ending)
  .map(([segments, end]) => `${segments.map((one) => `/${one}`).join("")}${end}` || "/")
  .filter((path) => parsePathPattern(path).ok);
const methods = fc.constantFrom<readonly string[]>(["POST"], ["PATCH"], ["POST", "PATCH"]);
const routes = fc.array(fc.tuple(pattern, methods), { minLength: 2, maxLength: 4 });
const requestPath = fc
  .tuple(fc.array(fc.oneof(word, fc.constantFrom("", "ab", "c", "1", "a.b")), { maxLength: 5 }), fc.boolean())
  .map(([segments, slash]) => `/${segments.join("/")}${slash ? "/" : ""}`);
const requestPaths = fc.array(requestPath, { minLength: 12, maxLength: 12 });

function matcher(path: string, index: number, methodsOf: readonly string[]): RouteMatcher {
  const patterns = parsePathPattern(path);
  const own = { name: `ROUTES[${index}]`, path, methods: methodsOf, isAlternative: false };
  return { ...own, patterns: patterns.ok ? patterns.value : [] };
}

/** Both ways in which Hono may serve: its own choice, and the router that accepts every pattern. */
function apps(matchers: readonly RouteMatcher[]): readonly Hono[] {
  return [new SmartRouter<never>({ routers: [new RegExpRouter(), new TrieRouter()] }), new TrieRouter<never>()].map(
    (router) => {
      const app = new Hono({ router });
      for (const { name, path, methods: of } of matchers) app.on([...of], path, (context) => context.text(name));
      app.notFound((context) => context.text("none"));
      return app;
    },
  );
}

async function routed(app: Hono, method: string, path: string): Promise<string> {
  return (await app.request(`http://gateway${path}`, { method })).text();
}

interface Matched {
  readonly path: string;
  readonly one: boolean;
  readonly other: boolean;
}

/** Which of two routes, each alone, Hono matches with each path, by both of its ways to serve. */
async function matchedAlone(one: RouteMatcher, other: RouteMatcher, paths: readonly string[]): Promise<Matched[]> {
  const isMatched = async (app: Hono, path: string): Promise<boolean> => (await routed(app, "POST", path)) !== "none";
  const others = apps([other]);
  const matched: Matched[] = [];
  for (const [index, app] of apps([one]).entries()) {
    const rival = others[index];
    if (rival === undefined) throw new Error("there is no such router");
    for (const path of paths) {
      matched.push({ path, one: await isMatched(app, path), other: await isMatched(rival, path) });
    }
  }
  return matched;
}

describe("shadowing", () => {
  it("reports no route that Hono would ever reach", async () => {
    await fc.assert(
      fc.asyncProperty(routes, requestPaths, async (list, paths) => {
        const matchers = list.map(([path, of], index) => matcher(path, index, of));
        const shadows = findShadows(matchers);
        fc.pre(shadows.length > 0);
        for (const app of apps(matchers)) {
          for (const { later, methods: dead } of shadows) {
            for (const method of dead) {
              for (const path of paths) expect(await routed(app, method, path)).not.toBe(later.name);
            }
          }
        }
      }),
      { numRuns: 1_500 },
    );
  });

  it("holds for each pair: if the wide pattern covers the narrow one, Hono matches the wide one too", async () => {
    await fc.assert(
      fc.asyncProperty(pattern, pattern, requestPaths, async (wide, narrow, paths) => {
        const one = matcher(wide, 0, ["POST"]);
        const other = matcher(narrow, 1, ["POST"]);
        fc.pre(other.patterns.every((each) => one.patterns.some((all) => coversPattern(all, each))));
        const missed = (await matchedAlone(one, other, paths)).filter((each) => each.other && !each.one);
        expect(missed).toEqual([]);
      }),
      { numRuns: 1_500 },
    );
  });

  it("finds that a tail wildcard shadows every route below it", () => {
    fc.assert(
      fc.property(pattern, (path) => {
        const shadows = findShadows([matcher("/*", 0, ["POST"]), matcher(path, 1, ["POST"])]);
        expect(shadows).toHaveLength(1);
      }),
    );
  });
});

describe("overlapping", () => {
  it.each([
    ["/a/x", "/a/:n{[0-9]+}", false],
    ["/a/12", "/a/:n{[0-9]+}", true],
    ["/a/x", "/a/:p", true],
    ["/a", "/b", false],
    ["/a", "/a/*", true],
    ["/a", "/a/*/:k?", true],
    ["/a/x", "/a/:e{[a-z]+/[a-z]+}", true],
  ])("of %s and %s is %s, whichever is first", (first, second, may) => {
    const [[one], [other]] = [matcher(first, 0, []).patterns, matcher(second, 1, []).patterns];
    if (one === undefined || other === undefined) throw new Error("no pattern");
    expect([mayOverlap(one, other), mayOverlap(other, one)]).toEqual([may, may]);
  });

  it("is never denied of patterns that Hono matches with one path", async () => {
    await fc.assert(
      fc.asyncProperty(pattern, pattern, requestPaths, async (first, second, paths) => {
        const [one, other] = [matcher(first, 0, ["POST"]), matcher(second, 1, ["POST"])];
        fc.pre(!one.patterns.some((each) => other.patterns.some((rival) => mayOverlap(each, rival))));
        const both = (await matchedAlone(one, other, paths)).filter((each) => each.one && each.other);
        expect(both).toEqual([]);
      }),
      { numRuns: 1_500 },
    );
  });
});

describe("path patterns", () => {
  it("mean the same to both of Hono's routers", async () => {
    await fc.assert(
      fc.asyncProperty(pattern, requestPaths, async (path, paths) => {
        const [smart, trie] = apps([matcher(path, 0, ["POST"])]);
        for (const request of paths) {
          // The routers differ on an empty segment, which no pattern here can name.
          if (smart === undefined || trie === undefined || request.includes("//")) continue;
          expect([request, await routed(smart, "POST", request)]).toEqual([
            request,
            await routed(trie, "POST", request),
          ]);
        }
      }),
      { numRuns: 1_500 },
    );
  });
});
