// Which routes of the gateway that runs a new configuration's route takes requests from. Both lists are in the order of matching, and
// an earlier route takes what it matches. Where that is not certain, a route counts as one that takes requests.

import { parsePathPattern, type PathPattern } from "../kernel/config/path-pattern.ts";
import type { Route } from "../kernel/config/resolved.ts";
import type { RunningRoute } from "../kernel/node-feature.ts";
import { coversPattern, mayOverlap } from "../kernel/config/shadowing.ts";

/** How the operator API names a route. */
export function routeText({ methods, path }: Pick<RunningRoute, "methods" | "path">): string {
  return `${methods.join(" ")} ${path}`;
}

interface Patterned<T> {
  readonly route: T;
  readonly patterns: readonly PathPattern[];
}

export class InheritedRoutes {
  readonly #routes: readonly Patterned<Route>[];
  readonly #running: readonly Patterned<RunningRoute>[];

  constructor(routes: readonly Route[], running: readonly RunningRoute[]) {
    this.#routes = routes.map(patterned);
    this.#running = running.map(patterned);
  }

  /** Those of which the new route gets some requests. */
  of(route: Route): readonly RunningRoute[] {
    const at = this.#routes.findIndex((one) => one.route === route);
    const own = this.#routes[at];
    if (own === undefined) return [];
    const before = this.#routes.slice(0, at);
    return this.#running
      .filter((other, index) => inherits(own, before, other, this.#running.slice(0, index)))
      .map((other) => other.route);
  }

  /** The methods of each running route for which the new configuration has no route at all. */
  get left(): readonly RunningRoute[] {
    return this.#running.flatMap(({ route, patterns }) => {
      const methods = route.methods.filter(
        (method) => !this.#routes.some((one) => one.route.methods.includes(method) && meet(one.patterns, patterns)),
      );
      return methods.length === 0 ? [] : [{ ...route, methods }];
    });
  }
}

function patterned<T extends { readonly path: string }>(route: T): Patterned<T> {
  // A queue or a group of consumers, which only itself matches.
  if (/^(?:queue|claims):/.test(route.path)) {
    return { route, patterns: [{ segments: [{ kind: "literal", text: route.path }], tail: false }] };
  }
  const read = parsePathPattern(route.path);
  // A newer gateway may have patterns that this version cannot read.
  return { route, patterns: read.ok ? read.value : [{ segments: [], tail: true }] };
}

function meet(ones: readonly PathPattern[], others: readonly PathPattern[]): boolean {
  return ones.some((one) => others.some((other) => mayOverlap(one, other)));
}

function inherits(
  own: Patterned<Route>,
  before: readonly Patterned<Route>[],
  other: Patterned<RunningRoute>,
  otherBefore: readonly Patterned<RunningRoute>[],
): boolean {
  return own.route.methods
    .filter((method) => other.route.methods.includes(method))
    .some((method) => {
      const rivals = [...before, ...otherBefore].filter(({ route }) => route.methods.includes(method));
      return own.patterns.some((one) =>
        other.patterns.some((two) => mayOverlap(one, two) && !rivals.some((rival) => takes(rival.patterns, one, two))),
      );
    });
}

/** Whether an earlier route takes all that both patterns match. */
function takes(earlier: readonly PathPattern[], one: PathPattern, two: PathPattern): boolean {
  return earlier.some((pattern) => coversPattern(pattern, one) || coversPattern(pattern, two));
}
