// Finds the scopes in which the records of a caller who is to be forgotten may have been claimed. Nothing here repeats a
// value: they are credentials, and names of people who want to be forgotten.

import type { Route } from "../../../kernel/config/resolved.ts";
import { digestedName, scopeNames } from "../../../kernel/config/scope-part.ts";
import { canonicalAddress } from "../../../kernel/request/client-address.ts";
import type { ScopeValues } from "../../../kernel/request/scope.ts";

/** Added to a scope by the gateway, so whoever names a caller need not know which routes have it. */
const HOST = "host";

/** Of each part its value; `null`: the caller's requests lack it. */
export type GivenScope = ReadonlyMap<string, string | null>;

/** The parts of a scope as requests have them. */
export function givenScope(written: Readonly<Record<string, string | null>>): GivenScope {
  return new Map(Object.entries(written).map(([name, value]) => partOf(name, value)));
}

/** A part as requests have it: an address in one spelling. */
function partOf(written: string, value: string | null): readonly [string, string | null] {
  const name = partName(written);
  const trimmed = value?.trim() ?? null;
  return [name, name === "ip" && trimmed !== null ? canonicalAddress(trimmed) : trimmed];
}

/** The names of headers have no case. */
function partName(written: string): string {
  const name = written.trim();
  return /^header:/i.test(name) ? name.toLowerCase() : name;
}

/** Every scope that a route has or had, once. */
function scopesOf(routes: readonly Route[]): readonly Route["scope"][] {
  const all = routes.flatMap(({ scope, previousScopes }) => [scope, ...previousScopes]);
  return [...new Map(all.map((scope) => [scopeNames(scope).join(), scope])).values()];
}

/**
 * The caller's values in each scope that has exactly the given parts, `host` aside where a scope lacks it. A scope without parts is
 * everybody's, and a part that was given and does not count could make one caller's erasure another's.
 */
export function fittingScopes(routes: readonly Route[], given: GivenScope): readonly ScopeValues[] {
  return scopesOf(routes).flatMap((scope) => {
    // The word of a route is no caller's, and the same for all of them.
    const parts = scope.map((part) => [digestedName(part), part.kind === "route" ? part.name : null] as const);
    const isComplete = parts.length > 0 && parts.every(([name, word]) => word !== null || given.has(name));
    const isExact = [...given.keys()].every((name) => name === HOST || parts.some(([own]) => own === name));
    return isComplete && isExact ? [parts.flatMap(([name, word]) => [name, word ?? given.get(name) ?? null])] : [];
  });
}

/** The names of the scopes whose callers can be named. */
export function namedScopes(routes: readonly Route[]): readonly (readonly string[])[] {
  return scopesOf(routes)
    .filter((scope) => scope.length > 0)
    .map((scope) => scope.filter(({ kind }) => kind !== "route").map(digestedName));
}

/** What to write, if no scope has the given parts. */
export function noScopeText(scopes: readonly (readonly string[])[]): string {
  const known = scopes.map((names) => `[${names.join(", ")}]`).join(", ");
  return scopes.length === 0
    ? 'No route tells callers apart (scope = ["none"]).'
    : `No route's scope has just these parts. Give a value, or null, for each part of one of: ${known}.`;
}
