// Routes that no request reaches, because others get all of them: earlier ones that match the same, and those whose path differs
// only in its last slash, which is no difference to a request (kernel/request/path.ts).

import type { ConfigProblem } from "./config-problem.ts";
import type { RouteDraft } from "./cross-checks.ts";
import { type SettingsLayer, settingsInForce } from "./in-force.ts";
import type { DeclaredSettings } from "./settings.ts";
import { coversPattern, findShadows, findSlashTwins, type RouteMatcher, type ShadowedRoute } from "./shadowing.ts";

export function unreachableRoutes(
  defaults: SettingsLayer,
  routes: readonly RouteDraft[],
  declared: DeclaredSettings,
): readonly ConfigProblem[] {
  const matchers = routes.flatMap((draft) => {
    const { all, isKnown } = settingsInForce(defaults, draft, declared);
    return draft.route === null || !isKnown("methods")
      ? []
      : [
          {
            name: draft.name,
            methods: all.methods,
            path: draft.route.path,
            patterns: draft.route.patterns,
            isAlternative: declared.areAlternatives(all),
          },
        ];
  });
  return [...findShadows(matchers).map(shadowProblem), ...findSlashTwins(matchers).map(twinProblem)];
}

function shadowProblem(shadow: ShadowedRoute): ConfigProblem {
  const { later, methods, earlier } = shadow;
  const first = earlier.map(nameOf).join(" and ");
  const catches = earlier.length === 1 ? "catches" : "catch";
  return {
    path: `${later.name}.path`,
    code: "route-unreachable",
    message: `never gets a ${methods.join(" or ")}, because ${first} ${catches} it first: ${adviceFor(shadow)}`,
    related: earlier.map(({ name }) => ({ path: `${name}.path`, label: "catches it first" })),
  };
}

/** Above the earlier route, one that matches the same would only change places with it. */
function adviceFor({ later, methods, earlier }: ShadowedRoute): string {
  const [one] = earlier;
  const isSame = one?.patterns.every((pattern) => later.patterns.some((wide) => coversPattern(wide, pattern)));
  const leave = `leave ${methods.join(" and ")} out of its methods`;
  if (earlier.length === 1 && isSame === true) {
    return methods.length < later.methods.length ? leave : "remove one of the two";
  }
  const above = earlier.length === 1 ? "that one" : "those";
  return `write this route above ${above}, or ${methods.length < later.methods.length ? leave : "remove it"}`;
}

function twinProblem({ later, methods, earlier }: ShadowedRoute): ConfigProblem {
  const others = earlier.map(nameOf).join(" and ");
  return {
    path: `${later.name}.path`,
    code: "route-unreachable",
    message: `matches the same requests as ${others}, because a slash at the end makes no difference, so one of them never gets a ${methods.join(" or ")}: remove one of the two`,
    related: earlier.map(({ name }) => ({ path: `${name}.path`, label: "matches the same" })),
  };
}

function nameOf({ name, path }: RouteMatcher): string {
  return `${name} ("${path}")`;
}
