// Compares a configuration with the gateway that runs: one that forgets where records are or what they are called is refused before it is
// deployed. Pure.

import type { ConfigProblem, Route } from "../kernel/config/resolved.ts";
import type { ForgettingProblem, RunningLayout, RunningRoute } from "../kernel/node-feature.ts";
import { CHECKS } from "./check/of-features.ts";
import { renamedCallers } from "./check-renaming.ts";
import { InheritedRoutes, routeText } from "./inherited-routes.ts";

export interface GatewayComparison {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/**
 * `routes`: those that protect keys. `running`: as the operator API gives them. `published`: the routes, in order. `jurisdiction`: the gateway's own, in which its totals, its
 * audit log and its operators' sessions are.
 */
export function compareLayouts(
  routes: readonly Route[],
  running: readonly RunningLayout[],
  published: readonly RunningRoute[],
  jurisdiction: string | null = null,
): GatewayComparison {
  const inherited = new InheritedRoutes(routes, published);
  const inheritedBy = (route: Route): readonly RunningRoute[] => inherited.of(route);
  const found = [
    ...CHECKS.flatMap(({ layoutsForgotten }) => layoutsForgotten?.({ routes, running, inheritedBy }) ?? []),
    ...routes.flatMap((route) => [...renamedCallers(route, inherited), ...unopened(route, inherited)]),
  ];
  return {
    problems: found.filter(({ isCertain }) => isCertain).map(asProblem),
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

/** Records are looked for where their layouts are. What the gateway keeps of itself is in objects of its own jurisdiction, which nobody lists. */
function movedAway(jurisdiction: string | null, running: readonly RunningLayout[]): readonly ConfigProblem[] {
  const inForce = running.filter(({ next }) => next === null);
  if (inForce.length === 0 || inForce.some((layout) => layout.jurisdiction === jurisdiction)) return [];
  const message =
    `is ${jurisdiction === null ? "none" : `"${jurisdiction}"`}, which no layout in force has: the totals, the audit log and the operators' sessions begin anew ` +
    "in other objects, and those of before are not shown. Read what you need of them first";
  return [{ path: "IDEMPOTENCY.jurisdiction", message }];
}

/** Nothing takes effect twice, but no retry gets the response of before. */
function unopened(route: Route, inherited: InheritedRoutes): readonly ForgettingProblem[] {
  if (route.encryptResponses !== false || !inherited.of(route).some(({ encryptResponses }) => encryptResponses))
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
