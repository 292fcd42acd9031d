// Compares a configuration with the gateway that runs: one that forgets where records are or what they are called, or that enters
// closed objects, is refused before it is deployed. Pure.

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
  "layout" | "shards" | "jurisdiction" | "next" | "closedFor" | "routes" | "objects" | "mayGo" | "reason" | "failed"
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
  const entered = routes.flatMap((route) => {
    const again = enteredAgain(route, running);
    return [...again, ...leftOut(route, running), ...(again.length > 0 ? [] : reordered(route, running, inherited))];
  });
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
  const inForce = running.filter(({ next }) => next === null);
  if (inForce.length === 0 || inForce.some((layout) => layout.jurisdiction === jurisdiction)) return [];
  const message =
    `is ${jurisdiction === null ? "none" : `"${jurisdiction}"`}, which no layout in force has: the totals, the audit log and the operators' sessions begin anew ` +
    "in other objects, and those of before are not shown. Read what you need of them first";
  return [{ path: "IDEMPOTENCY.jurisdiction", message }];
}

/** Nothing takes effect twice, but no retry gets the response of before. */
function unopened(route: Route, inherited: InheritedRoutes): readonly Forgetting[] {
  if (
    route.encryptResponses !== false ||
    !inherited.of(route).some(({ encryptResponses }) => encryptResponses === true)
  )
    return [];
  return [
    {
      path: `${route.name}.encrypt_responses`,
      message:
        'leaves responses that do not open, because encrypt_responses = true is in force: write "past" for a retention first',
      isCertain: true,
    },
  ];
}

function asProblem({ path, message }: ConfigProblem): ConfigProblem {
  return { path, message };
}

/** A layout whose objects are closed: its keys would begin where they were closed for, and not where the route says. */
function enteredAgain({ name, layouts }: Route, running: readonly RunningLayout[]): readonly ConfigProblem[] {
  const { own, previous } = layouts;
  const title = layoutTitle(own);
  const [next] = running.find(({ layout }) => layout === title)?.closedFor ?? [];
  if (next === undefined) return [];
  const message =
    `enters layout ${title}, whose objects are closed for ${next}, and a closed object is never opened again: ` +
    adviseAfresh(own, usedIn(previous, running));
  return [{ path: `${name}.shards`, message }];
}

/** All layouts whose names may be taken; of those that only objects know, the titles. */
function usedIn(previous: Route["layouts"]["previous"], running: readonly RunningLayout[]): readonly NamedLayout[] {
  const known = running.flatMap(({ closedFor }) => closedFor.map((shards) => ({ shards, jurisdiction: null })));
  return [...previous, ...running, ...known];
}

/** Objects of a previous layout may be closed for a layout that the route does not list. */
function leftOut(route: Route, running: readonly RunningLayout[]): readonly ConfigProblem[] {
  const listed = titlesOf(route);
  return route.layouts.previous.flatMap((previous) => {
    const { layout = "", closedFor = [] } = running.find((one) => one.layout === layoutTitle(previous)) ?? {};
    const first = closedFor.find((title) => !listed.includes(title));
    if (first === undefined) return [];
    const message = `lists layout ${layout}, which is closed for ${first}, where its later keys are: append ${first}`;
    return [{ path: `${route.name}.previous_shards`, message }];
  });
}

/**
 * All Workers begin a key in the same layout, the first that they list, also while the new configuration is rolled out beside the running one. And
 * layouts are closed in the order in which they are listed.
 */
function reordered(
  route: Route,
  running: readonly RunningLayout[],
  inherited: InheritedRoutes,
): readonly ConfigProblem[] {
  const listed = titlesOf(route);
  for (const before of inherited.of(route)) {
    const order = inOrder(running.filter(({ routes }) => routes.includes(routeText(before))));
    const stays = order.filter(({ layout, mayGo }) => !mayGo || listed.includes(layout)).map(({ layout }) => layout);
    const [first] = stays;
    if (first === undefined || !stays.every((layout) => listed.includes(layout))) continue;
    const common = listed.filter((layout) => stays.includes(layout));
    if (listed[0] === first && common.join() === stays.join()) continue;
    const message =
      listed[0] === first
        ? `changes the order of ${stays.join(", ")}: append what was in force, and change nothing else`
        : `begins keys in layout ${listed[0]}, and the running gateway in ${first}: while both run, a key may act twice. Write ${first} first`;
    return [{ path: `${route.name}.previous_shards`, message }];
  }
  return [];
}

/** Oldest first: each is followed by its next one. */
function inOrder(layouts: readonly RunningLayout[]): readonly RunningLayout[] {
  const stepsFrom = (one: RunningLayout, seen: readonly string[] = []): number => {
    const next = layouts.find(({ layout }) => layout === one.next);
    return next === undefined || seen.includes(next.layout) ? 0 : 1 + stepsFrom(next, [...seen, one.layout]);
  };
  return layouts.toSorted((one, other) => stepsFrom(other) - stepsFrom(one));
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
  const state = one.next === null ? "which is in force" : `which may still hold records (${one.reason})`;
  const isCertain = one.next === null || one.objects !== null;
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
  const { own, previous } = route.layouts;
  const before = new Set(inherited.of(route).map(routeText));
  const listed = new Set(previous.map(layoutTitle));
  const [inForce, earlier] = [running.filter(({ next }) => next === null), running.filter(({ next }) => next !== null)];
  const known = [...earlier, ...inForce].filter(
    ({ layout, next, routes, mayGo }) =>
      (layout !== layoutTitle(own) || next !== null) &&
      (listed.has(layout) || (!mayGo && routes.some((one) => before.has(one)))),
  );
  const others = previous.filter((one) => !known.some(({ layout }) => layout === layoutTitle(one)));
  return writePreviousShards([...known, ...others], own);
}

function titlesOf({ layouts: { own, previous } }: Route): readonly string[] {
  return [...previous, own].map((layout) => layoutTitle(layout));
}
