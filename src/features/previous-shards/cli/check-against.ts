// What `check --against` says of layouts: a configuration that forgets where records lie, begins keys in another layout than the running one, or enters
// closed objects again. Pure.

import { routeText } from "../../../cli/inherited-routes.ts";
import { layoutTitle } from "../../../kernel/config/layout.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import type { ForgettingProblem, LayoutComparison, RunningLayout } from "../../../kernel/node-feature.ts";
import { adviseAfresh, type NamedLayout, writePreviousShards } from "../settings/checks.ts";

export function layoutsForgotten(comparison: LayoutComparison): readonly ForgettingProblem[] {
  const { routes, running } = comparison;
  const found: ForgettingProblem[] = [];
  for (const route of routes) {
    const again = enteredAgain(route, running);
    found.push(...again, ...leftOut(route, running));
    if (again.length === 0) found.push(...reordered(route, comparison));
  }
  return [...found, ...running.filter(({ mayGo }) => !mayGo).flatMap((layout) => forgetting(layout, comparison))];
}

/** A layout whose objects are closed, or close when they are asked: its keys would begin where they were closed for, and not where the route says. */
function enteredAgain({ name, layouts }: Route, running: readonly RunningLayout[]): readonly ForgettingProblem[] {
  const { own, previous } = layouts;
  const title = layoutTitle(own);
  const next = closedNext(title, running);
  if (next !== null) {
    const message =
      `enters layout ${title}, whose objects are closed for ${next}, and a closed object is never opened again: ` +
      adviseAfresh(own, usedIn(previous, running));
    return [{ path: `${name}.shards`, message, isCertain: true }];
  }
  const titles = previous.map(layoutTitle);
  const perKey = previous.findIndex(({ shards }) => shards === "per-key");
  const [before = "", after = ""] = titles.slice(perKey === -1 ? titles.length : perKey);
  if (!isClosedFor(after, before, running)) return [];
  // No operator closes an object for each key, so nothing else refuses it.
  const message = `lists ${before} before ${after}, whose objects are closed for it: both would send new keys to each other. Write ${after} first`;
  return [{ path: `${name}.previous_shards`, message, isCertain: true }];
}

/** For which layout its objects are closed; `null`: they are open, as far as the running gateway knows. */
function closedNext(title: string, running: readonly RunningLayout[]): string | null {
  const one = running.find(({ layout }) => layout === title);
  if (one === undefined) return null;
  // An object for each key closes when it is asked, and nobody can list those that have.
  return one.objects === null ? one.next : (one.closedFor[0] ?? null);
}

/** Whether the closed objects of one layout send new keys to another, at once or by others in between. */
function isClosedFor(title: string, other: string, running: readonly RunningLayout[]): boolean {
  const seen = new Set<string>();
  let at: string | null = title;
  while (at !== null && at !== other && !seen.has(at)) {
    seen.add(at);
    at = closedNext(at, running);
  }
  return title !== "" && at === other;
}

/** All layouts whose names may be taken; of those that only objects know, the titles. */
function usedIn(previous: Route["layouts"]["previous"], running: readonly RunningLayout[]): readonly NamedLayout[] {
  const known = running.flatMap(({ closedFor }) => closedFor.map((shards) => ({ shards, jurisdiction: null })));
  return [...previous, ...running, ...known];
}

/** Objects of a previous layout may be closed for a layout that the route does not list. */
function leftOut(route: Route, running: readonly RunningLayout[]): readonly ForgettingProblem[] {
  const listed = titlesOf(route);
  return route.layouts.previous.flatMap((previous) => {
    const { layout = "", closedFor = [] } = running.find((one) => one.layout === layoutTitle(previous)) ?? {};
    const first = closedFor.find((title) => !listed.includes(title));
    if (first === undefined) return [];
    const message = `lists layout ${layout}, which is closed for ${first}, where its later keys are: append ${first}`;
    return [{ path: `${route.name}.previous_shards`, message, isCertain: true }];
  });
}

/**
 * All Workers begin a key in the same layout, the first that they list, also while the new configuration is rolled out beside the running one. And
 * layouts are closed in the order in which they are listed.
 */
function reordered(route: Route, { running, inheritedBy }: LayoutComparison): readonly ForgettingProblem[] {
  const listed = titlesOf(route);
  for (const before of inheritedBy(route)) {
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
    return [{ path: `${route.name}.previous_shards`, message, isCertain: true }];
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
function forgetting(one: RunningLayout, comparison: LayoutComparison): readonly ForgettingProblem[] {
  const { routes, inheritedBy } = comparison;
  const lists = (route: Route): boolean => titlesOf(route).includes(one.layout);
  const users = routes.filter((route) => inheritedBy(route).some((other) => one.routes.includes(routeText(other))));
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
      const message = `forgets layout ${one.layout}, ${state}: write previous_shards = ${wanted(route, comparison)}`;
      return { path: `${route.name}.previous_shards`, message, isCertain };
    });
}

/** What the route should list, oldest first: what it lists, and what must not be forgotten. */
function wanted(route: Route, { running, inheritedBy }: LayoutComparison): string {
  const { own, previous } = route.layouts;
  const before = new Set(inheritedBy(route).map(routeText));
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
