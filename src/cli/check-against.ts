// Compares a configuration with the gateway that runs: one that forgets where records are or what they are called, or that enters
// objects that were left, is refused before it is deployed. Pure.

import { layoutTitle } from "../kernel/config/layout.ts";
import { adviseAfresh, type NamedLayout, writePreviousShards } from "../kernel/previous-shards/layout-checks.ts";
import type { ConfigProblem, Route } from "../kernel/config/resolved.ts";
import type { Forgetting, RunningRoute } from "../kernel/node-feature.ts";
import { renaming } from "./check-renaming.ts";
import { InheritedRoutes, routeText } from "./inherited-routes.ts";
import type { LayoutState } from "./operator-client.ts";

export interface Comparison {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

type RunningLayout = Pick<
  LayoutState,
  | "layout"
  | "shards"
  | "jurisdiction"
  | "left"
  | "next"
  | "elders"
  | "routes"
  | "objects"
  | "mayGo"
  | "reason"
  | "failed"
>;

/**
 * `running`: as the operator API gives them. `published`: the routes, in order. `jurisdiction`: the gateway's own, in which its totals, its
 * audit log and its operators' sessions are.
 */
export function compareLayouts(
  routes: readonly Route[],
  running: readonly RunningLayout[],
  published: readonly RunningRoute[],
  jurisdiction: string | null = null,
): Comparison {
  const inherited = new InheritedRoutes(routes, published);
  const entered = routes.flatMap((route) => [...enteredAgain(route, running), ...leftOut(route, running)]);
  const forgotten = running
    .filter(({ mayGo }) => !mayGo)
    .flatMap((layout) => forgetting(layout, routes, running, inherited));
  const renamed = routes.flatMap((route) => [...renaming(route, inherited), ...unopened(route, inherited)]);
  const found = [...forgotten, ...renamed];
  return {
    problems: [...entered, ...found.filter(({ isCertain }) => isCertain)].map(asProblem),
    warnings: [
      ...found.filter(({ isCertain }) => !isCertain),
      ...unprotected(inherited),
      ...movedAway(jurisdiction, running),
    ].map(asProblem),
  };
}

/** Of a route whose layout others share, nothing else says that its keys are forgotten. */
function unprotected(inherited: InheritedRoutes): readonly ConfigProblem[] {
  return inherited.left.map((route) => ({
    path: "ROUTES",
    message: `leaves ${routeText(route)} without protection: a retry of a request of before acts again`,
  }));
}

/** Records are told of where their layouts are. What the gateway keeps of itself is in objects of its own jurisdiction, which nobody lists. */
function movedAway(jurisdiction: string | null, running: readonly RunningLayout[]): readonly ConfigProblem[] {
  const inForce = running.filter(({ left }) => left === null);
  if (inForce.length === 0 || inForce.some((layout) => layout.jurisdiction === jurisdiction)) return [];
  const message =
    `is ${jurisdiction === null ? "none" : `"${jurisdiction}"`}, which no layout in force has: the totals, the audit log and the operators' sessions begin anew ` +
    "in other objects, and those of before are not shown. Read what you need of them first";
  return [{ path: "IDEMPOTENCY.jurisdiction", message }];
}

/** Nothing takes effect twice, but no retry gets the response of before. */
function unopened(route: Route, inherited: InheritedRoutes): readonly Forgetting[] {
  if (route.sealed !== false || !inherited.of(route).some(({ sealed }) => sealed === true)) return [];
  return [
    {
      path: `${route.name}.sealed`,
      message:
        'leaves responses that do not open, because sealed = true is in force: write "past" for a retention first',
      isCertain: true,
    },
  ];
}

function asProblem({ path, message }: ConfigProblem): ConfigProblem {
  return { path, message };
}

function enteredAgain({ name, layouts }: Route, running: readonly RunningLayout[]): readonly ConfigProblem[] {
  const { own } = layouts;
  const title = layoutTitle(own);
  const itself = running.find(({ layout }) => layout === title);
  const followers = running.filter(({ elders }) => elders.includes(title)).map(({ layout }) => layout);
  const [next] = [
    ...(itself?.next ?? []),
    ...followers,
    ...(itself === undefined || itself.left === null ? [] : [itself.left]),
  ];
  if (next === undefined) return [];
  const message =
    `enters layout ${title} again, which was left for ${next}, and objects that were left take no new keys: ` +
    adviseAfresh(own, usedIn(layouts.elders, running));
  return [{ path: `${name}.shards`, message }];
}

/** All layouts whose names may be taken; of those that only objects know, the titles. */
function usedIn(elders: Route["layouts"]["elders"], running: readonly RunningLayout[]): readonly NamedLayout[] {
  const known = running.flatMap((layout) =>
    [...layout.next, ...layout.elders].map((shards) => ({ shards, jurisdiction: null })),
  );
  return [...elders, ...running, ...known];
}

/** Objects of an older layout may have sent their keys on to a layout that the route does not list. */
function leftOut(route: Route, running: readonly RunningLayout[]): readonly ConfigProblem[] {
  const listed = titlesOf(route);
  return route.layouts.elders.flatMap((elder) => {
    const { layout = "", next = [] } = running.find((one) => one.layout === layoutTitle(elder)) ?? {};
    const missing = next.filter((title) => !listed.includes(title));
    if (missing.length === 0) return [];
    const [first] = missing;
    const message = `lists layout ${layout}, which was left for ${first}, where its later keys are: append ${first}`;
    return [{ path: `${route.name}.previous_shards`, message }];
  });
}

/** A layout that may still hold records has to be listed by each route that used it, or by any if none of them is there. */
function forgetting(
  one: RunningLayout,
  routes: readonly Route[],
  running: readonly RunningLayout[],
  inherited: InheritedRoutes,
): readonly Forgetting[] {
  const lists = (route: Route): boolean => titlesOf(route).includes(one.layout);
  const users = routes.filter((route) => inherited.of(route).some((other) => one.routes.includes(routeText(other))));
  const state = one.left === null ? "which is in force" : `which may still hold records (${one.reason})`;
  const isCertain = one.left === null || one.objects !== null;
  if (users.length === 0 && !routes.some(lists)) {
    const used = one.routes.join(", ");
    const message = `forget layout ${one.layout}, ${state}: write previous_shards in the routes that replace ${used}`;
    return [{ path: "ROUTES", message, isCertain }];
  }
  return users
    .filter((route) => !lists(route))
    .map((route) => {
      const message = `forgets layout ${one.layout}, ${state}: write previous_shards = ${wanted(route, running, inherited)}`;
      return { path: `${route.name}.previous_shards`, message, isCertain };
    });
}

/** What the route should list, oldest first: what it lists, and what must not be forgotten. */
function wanted(route: Route, running: readonly RunningLayout[], inherited: InheritedRoutes): string {
  const { own, elders } = route.layouts;
  const before = new Set(inherited.of(route).map(routeText));
  const listed = new Set(elders.map(layoutTitle));
  const [inForce, older] = [running.filter(({ left }) => left === null), running.filter(({ left }) => left !== null)];
  const known = [...older, ...inForce].filter(
    ({ layout, left, routes, mayGo }) =>
      (layout !== layoutTitle(own) || left !== null) &&
      (listed.has(layout) || (!mayGo && routes.some((one) => before.has(one)))),
  );
  const others = elders.filter((elder) => !known.some(({ layout }) => layout === layoutTitle(elder)));
  return writePreviousShards([...known, ...others], own);
}

function titlesOf({ layouts: { own, elders } }: Route): readonly string[] {
  return [...elders, own].map((layout) => layoutTitle(layout));
}
