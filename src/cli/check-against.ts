// Compares a configuration with the layouts of the gateway that runs: a configuration that forgets where records are, or that enters
// objects that were left, is refused before it is deployed. Pure.

import { layoutTitle } from "../config/layout.ts";
import { afresh, writePreviousShards } from "../config/layout-checks.ts";
import type { ConfigProblem, Route } from "../config/resolved.ts";
import type { LayoutState } from "./operator-client.ts";

export interface Comparison {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

type RunningLayout = Pick<
  LayoutState,
  "layout" | "shards" | "jurisdiction" | "left" | "next" | "elders" | "routes" | "objects" | "mayGo" | "reason"
>;

/** `running`: as the operator API gives them. */
export function compareLayouts(routes: readonly Route[], running: readonly RunningLayout[]): Comparison {
  const entered = routes.flatMap((route) => [...enteredAgain(route, running), ...leftOut(route, running)]);
  const forgotten = running.filter(({ mayGo }) => !mayGo).flatMap((layout) => forgetting(layout, routes, running));
  return {
    problems: [...entered, ...forgotten.filter(({ isCountable }) => isCountable)].map(asProblem),
    warnings: forgotten.filter(({ isCountable }) => !isCountable).map(asProblem),
  };
}

function asProblem({ path, message }: ConfigProblem): ConfigProblem {
  return { path, message };
}

function enteredAgain({ name, layouts: { own } }: Route, running: readonly RunningLayout[]): readonly ConfigProblem[] {
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
    `write shards = ${JSON.stringify(afresh(own))} for as many objects with other names`;
  return [{ path: `${name}.shards`, message }];
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

interface Forgetting extends ConfigProblem {
  /** Whether the gateway can say when a layout is empty. One that has an object for each key may be, so that is a warning. */
  readonly isCountable: boolean;
}

/** A layout that may still hold records has to be listed by each route that used it, or by any if none of them is there. */
function forgetting(
  one: RunningLayout,
  routes: readonly Route[],
  running: readonly RunningLayout[],
): readonly Forgetting[] {
  const lists = (route: Route): boolean => titlesOf(route).includes(one.layout);
  const users = routes.filter(({ methods, path }) => one.routes.includes(`${methods.join(" ")} ${path}`));
  const state = one.left === null ? "which is in force" : `which may still hold records (${one.reason})`;
  const isCountable = one.left === null || one.objects !== null;
  if (users.length === 0 && !routes.some(lists)) {
    const used = one.routes.join(", ");
    const message = `forget layout ${one.layout}, ${state}: write previous_shards in the routes that replace ${used}`;
    return [{ path: "ROUTES", message, isCountable }];
  }
  return users
    .filter((route) => !lists(route))
    .map((route) => {
      const message = `forgets layout ${one.layout}, ${state}: write previous_shards = ${wanted(route, running)}`;
      return { path: `${route.name}.previous_shards`, message, isCountable };
    });
}

/** What the route should list, oldest first: what it lists, and what must not be forgotten. */
function wanted({ methods, path, layouts: { own, elders } }: Route, running: readonly RunningLayout[]): string {
  const route = `${methods.join(" ")} ${path}`;
  const listed = new Set(elders.map(layoutTitle));
  const [inForce, older] = [running.filter(({ left }) => left === null), running.filter(({ left }) => left !== null)];
  const known = [...older, ...inForce].filter(
    ({ layout, left, routes, mayGo }) =>
      (layout !== layoutTitle(own) || left !== null) && (listed.has(layout) || (!mayGo && routes.includes(route))),
  );
  const others = elders.filter((elder) => !known.some(({ layout }) => layout === layoutTitle(elder)));
  return writePreviousShards([...known, ...others], own);
}

function titlesOf({ layouts: { own, elders } }: Route): readonly string[] {
  return [...elders, own].map((layout) => layoutTitle(layout));
}
