// Finds the route that protects a request: the first match in the order of the configuration. If the forms of a path (see
// path.ts) match different routes, the strictest one counts, because the gateway cannot know which form the origin's router
// uses. A different case of letters is a form too, because many routers ignore case (Express, ASP.NET).

import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { parsePathPattern, type PathPattern, type Segment } from "../config/path-pattern.ts";
import type { Route } from "../config/resolved.ts";
import type { KeyRule, StoreFailureRule } from "../config/words.ts";
import type { UnknownRule } from "../record/record.ts";
import { pathForms } from "./path.ts";

/** `null`: no route protects the request. `too-long`: unknown, because the path is too long to compare all its forms. */
export type FindRoute = (method: string, path: string) => Route | "too-long" | null;

export function routeFinder(routes: readonly Route[]): FindRoute {
  const router = new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });
  for (const route of routes) for (const method of route.methods) router.add(method, route.path, route);
  const methods = new Set(routes.flatMap((route) => route.methods));
  const inOrder = (some: ReadonlySet<Route>): readonly Route[] => routes.filter((route) => some.has(route));
  const recasings = recasingsOf(routes);
  const hasTrailingSlash = routes.some(({ path }) => path.length > 1 && path.endsWith("/"));
  const first = (method: string, path: string): Route | null => router.match(method, path)[0][0]?.[0] ?? null;

  return (method, path) => {
    if (!methods.has(method)) return null;
    const asWritten = pathForms(path);
    if (asWritten === null) return "too-long";
    // Most paths have one form and one spelling.
    const isPlain = asWritten.length === 1 && !hasTrailingSlash;
    if (isPlain && recasings.every((recase) => recase(path) === path)) return first(method, path);
    const spellings = [...asWritten, ...recasings.flatMap((recase) => asWritten.map(recase))];
    // Routers that ignore a trailing slash run the handler of `/orders/` for `/orders` too.
    const forms = new Set(hasTrailingSlash ? spellings.flatMap((form) => [form, `${form}/`]) : spellings);
    if (forms.size === 1) return first(method, path);
    const found = new Set<Route>();
    for (const form of forms) {
      const route = first(method, form);
      if (route !== null) found.add(route);
    }
    return strictestRoute(inOrder(found));
  };
}

/**
 * The strictest of several routes that one request could match: by `key`, then by `graphql`, then by `unknown`, then by `on_store_failure`;
 * of equals the first. The settings of two routes are never mixed.
 */
export function strictestRoute(routes: readonly Route[]): Route | null {
  let strictest: Route | null = null;
  for (const route of routes) if (strictest === null || laxity(route) < laxity(strictest)) strictest = route;
  return strictest;
}

function laxity({ key, graphql, rules, onStoreFailure }: Route): number {
  return KEY[key] * 100 + (graphql ? 50 : 0) + UNKNOWN[rules.policy.unknown] * 10 + STORE[onStoreFailure];
}

const KEY: Readonly<Record<KeyRule, number>> = { required: 0, optional: 1 };
const UNKNOWN: Readonly<Record<UnknownRule, number>> = { hold: 0, verify: 1, retry: 2 };
const STORE: Readonly<Record<StoreFailureRule, number>> = { closed: 0, open: 1 };

type Recase = (path: string) => string;

/**
 * Functions that change the case of a path's segments to the case that routes use. One covers every name that all routes spell
 * the same way. Each route with a name that other routes spell differently gets a function of its own. If two routes differ
 * only by case, case counts, and neither gets one.
 */
function recasingsOf(routes: readonly Route[]): readonly Recase[] {
  const patterns = routes.flatMap(patternsOf);
  const spellings = new Map<string, string | null>();
  for (const text of patterns.flatMap(({ segments }) => segments.flatMap(literalOf))) {
    const known = spellings.get(text.toLowerCase());
    spellings.set(text.toLowerCase(), known === undefined || known === text ? text : null);
  }
  const isLower = [...spellings].every(([lower, text]) => lower === text);
  const common: Recase = (path) => {
    if (isLower && path === path.toLowerCase()) return path;
    return path
      .split("/")
      .map((segment) => spellings.get(segment.toLowerCase()) ?? segment)
      .join("/");
  };
  const isOdd = (segment: Segment): boolean =>
    literalOf(segment).some((text) => spellings.get(text.toLowerCase()) === null);
  const hasTwin = (one: PathPattern): boolean =>
    patterns.some(
      (other) => shapeOf(other) !== shapeOf(one) && shapeOf(other).toLowerCase() === shapeOf(one).toLowerCase(),
    );
  const odd = patterns.filter((pattern) => pattern.segments.some(isOdd) && !hasTwin(pattern));
  return [common, ...odd.map(recasingOf)];
}

/** If the path begins like the pattern except for case, changes that beginning to the pattern's case. */
function recasingOf({ segments }: PathPattern): Recase {
  return (path) => {
    const parts = path.split("/", segments.length + 1);
    const rest = path.slice(parts.join("/").length);
    for (const [at, segment] of segments.entries()) {
      if (segment.kind !== "literal") continue;
      if (parts[at + 1]?.toLowerCase() !== segment.text.toLowerCase()) return path;
      parts[at + 1] = segment.text;
    }
    return parts.join("/") + rest;
  };
}

function patternsOf({ path }: Route): readonly PathPattern[] {
  const patterns = parsePathPattern(path);
  return patterns.ok ? patterns.value : [];
}

function literalOf(segment: Segment): readonly string[] {
  return segment.kind === "literal" ? [segment.text] : [];
}

/** Two patterns with the same shape match the same paths. */
function shapeOf({ segments, tail }: PathPattern): string {
  return [...segments.map((segment) => literalOf(segment)[0] ?? ":"), ...(tail ? ["*"] : [])].join("/");
}
