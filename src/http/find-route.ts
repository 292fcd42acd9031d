// Which route protects a request: the first that matches, in the order of the configuration. Where a path has several
// forms (see path.ts) that match different routes, the strictest of them: nobody knows which one the origin will take it
// for. Letters' case is a form too, since many routers do not look at it (Express, ASP.NET).

import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { parsePathPattern } from "../config/path-pattern.ts";
import type { Route } from "../config/resolved.ts";
import { strictestRoute } from "../config/strictest.ts";
import { pathForms } from "./path.ts";

/** `null`: nothing protects it. `too-long`: nobody knows, since the path is too long to be compared in all its forms. */
export type FindRoute = (method: string, path: string) => Route | "too-long" | null;

export function routeFinder(routes: readonly Route[]): FindRoute {
  const router = new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });
  for (const route of routes) for (const method of route.methods) router.add(method, route.path, route);
  const methods = new Set(routes.flatMap((route) => route.methods));
  const inOrder = (some: ReadonlySet<Route>): readonly Route[] => routes.filter((route) => some.has(route));
  const spelled = spellerOf(routes);
  const hasTrailingSlash = routes.some(({ path }) => path.length > 1 && path.endsWith("/"));
  const first = (method: string, path: string): Route | null => router.match(method, path)[0][0]?.[0] ?? null;

  return (method, path) => {
    if (!methods.has(method)) return null;
    const asWritten = pathForms(path);
    if (asWritten === null) return "too-long";
    const spellings = asWritten.flatMap((form) => [form, spelled(form)]);
    // Routers that ignore a trailing slash run the handler of `/orders/` for `/orders` as well.
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

/** Gives a path's segments the case in which routes spell them. Where two routes differ by case alone, case counts. */
function spellerOf(routes: readonly Route[]): (path: string) => string {
  const spellings = new Map<string, string | null>();
  for (const text of routes.flatMap(literalsOf)) {
    const known = spellings.get(text.toLowerCase());
    spellings.set(text.toLowerCase(), known === undefined || known === text ? text : null);
  }
  const isLower = [...spellings].every(([lower, text]) => lower === text);
  return (path) => {
    if (isLower && path === path.toLowerCase()) return path;
    return path
      .split("/")
      .map((segment) => spellings.get(segment.toLowerCase()) ?? segment)
      .join("/");
  };
}

function literalsOf({ path }: Route): readonly string[] {
  const patterns = parsePathPattern(path);
  if (!patterns.ok) return [];
  return patterns.value.flatMap(({ segments }) =>
    segments.flatMap((segment) => (segment.kind === "literal" ? [segment.text] : [])),
  );
}
