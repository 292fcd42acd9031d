// What makes a request of before another one: its record's name (scope, and what features add to it) and its fingerprint. Compares a route with those of the running gateway whose requests it takes over. Pure.

import { CHECKS } from "./check/of-features.ts";
import type { Route } from "../kernel/config/resolved.ts";
import { scopeNames } from "../kernel/config/scope-part.ts";
import type { ForgettingProblem } from "../kernel/node-feature.ts";
import { type InheritedRoutes, routeText } from "./inherited-routes.ts";

export function renamedCallers(route: Route, inherited: InheritedRoutes): readonly ForgettingProblem[] {
  return [
    ...otherScopes(route, inherited),
    ...otherFingerprints(route, inherited),
    ...CHECKS.flatMap(({ forgetting }) => forgetting?.(route, inherited.of(route)) ?? []),
  ];
}

/** Another scope gives records other names. A narrower one may be meant to forget: see `previous_scope`. */
function otherScopes(route: Route, inherited: InheritedRoutes): readonly ForgettingProblem[] {
  const known = [...route.previousScopes, route.scope].map(scopeNames);
  const texts = new Set(known.map(asList));
  const strange = new Map(
    inherited
      .of(route)
      .filter(({ scope }) => !texts.has(asList(scope)))
      .map(({ scope }) => [asList(scope), scope]),
  );
  return [...strange.values()].map((scope) => {
    if (scope.includes("forwarded-host") && !route.trustForwarded) return untrusted(route, scope);
    const isNarrower =
      asList(scope) === asList(["none"]) || scope.every((part) => scopeNames(route.scope).includes(part));
    // Where the host alone has changed its part, nothing was meant to be forgotten.
    const isHostOnly = asList(withoutHost(scope)) === asList(withoutHost(scopeNames(route.scope)));
    const earlier = [...route.previousScopes.map(scopeNames), scope].map((names) => asWritten(names, route));
    const remedy = `previous_scope = [${earlier.map(asList).join(", ")}]`;
    const unless = isNarrower ? ", unless the older scope showed one caller's answers to another" : "";
    return {
      path: `${route.name}.previous_scope`,
      message: `forgets the keys of scope = ${asList(scope)}, which is in force: write ${remedy}${unless}`,
      isCertain: !isNarrower || isHostOnly,
    };
  });
}

const HOSTS: ReadonlySet<string> = new Set(["host", "forwarded-host"]);

function withoutHost(names: readonly string[]): readonly string[] {
  const others = names.filter((name) => !HOSTS.has(name));
  return others.length === 0 ? ["none"] : others;
}

/** An earlier scope as `previous_scope` has to write it: where the route's own has the host, one without it says so. */
function asWritten(names: readonly string[], { scope }: Route): readonly string[] {
  const isHosted = scopeNames(scope).some((name) => HOSTS.has(name));
  if (!isHosted || names.some((name) => HOSTS.has(name))) return names;
  return [...names.filter((name) => name !== "none"), "any-host"];
}

/** What proxies said of hosts cannot be read any more, because then every client could say it. */
function untrusted(route: Route, scope: readonly string[]): ForgettingProblem {
  return {
    path: "IDEMPOTENCY.trust_forwarded",
    message: `forgets the keys of scope = ${asList(scope)} in ${routeText(route)}, which is in force: write trust_forwarded = true until the longest retention has passed since the last request through that proxy`,
    isCertain: true,
  };
}

/** Nothing acts twice, but retries of older keys get 422. */
function otherFingerprints(route: Route, inherited: InheritedRoutes): readonly ForgettingProblem[] {
  const text = JSON.stringify(route.fingerprint);
  if (inherited.of(route).every(({ fingerprint }) => fingerprint === text)) return [];
  return [
    {
      path: `${route.name}.fingerprint`,
      message:
        "compares requests in another way than the gateway that runs: retries of older keys look like reuse and get key-reused, as dead letters too",
      isCertain: false,
    },
  ];
}

function asList(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name)).join(", ")}]`;
}
