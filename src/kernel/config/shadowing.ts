// Decides whether earlier routes catch every request of a later one. Reports only what is certain for both of Hono's
// routers; a route that it does not report may still be unreachable.

import type { PathPattern, PathSegment } from "./path-pattern.ts";

/** What shadowing depends on: a route's name, its methods, and its pattern's alternatives. */
export interface RouteMatcher {
  readonly name: string;
  readonly path: string;
  readonly methods: readonly string[];
  readonly patterns: readonly PathPattern[];
  /** Whether others of the same path that are so too get what it does not take. */
  readonly isAlternative: boolean;
}

/** A later route that gets none of one method's requests, and the earlier ones that get them. */
export interface ShadowedRoute {
  readonly later: RouteMatcher;
  readonly methods: readonly string[];
  readonly earlier: readonly RouteMatcher[];
}

/** Every route that earlier ones cover completely for at least one of its methods. Order is the order of matching. */
export function findShadows(matchers: readonly RouteMatcher[]): readonly ShadowedRoute[] {
  return matchers.flatMap((later, index) => {
    const methods: string[] = [];
    const earlier = new Set<RouteMatcher>();
    for (const method of later.methods) {
      const rivals = matchers
        .slice(0, index)
        .filter((rival) => rival.methods.includes(method) && !areAlternatives(rival, later));
      const covering = later.patterns.map((pattern) =>
        rivals.find((rival) => rival.patterns.some((wide) => coversPattern(wide, pattern))),
      );
      if (covering.includes(undefined)) continue;
      methods.push(method);
      for (const rival of covering) if (rival !== undefined) earlier.add(rival);
    }
    return methods.length === 0 ? [] : [{ later, methods, earlier: [...earlier] }];
  });
}

function areAlternatives(one: RouteMatcher, other: RouteMatcher): boolean {
  return one.isAlternative && other.isAlternative && one.path === other.path;
}

/** Later routes that differ from an earlier one of the same method only in the slash at the end of their path. */
export function findSlashTwins(matchers: readonly RouteMatcher[]): readonly ShadowedRoute[] {
  return matchers.flatMap((later, index) =>
    matchers
      .slice(0, index)
      .filter((earlier) => earlier.path !== later.path && withoutSlash(earlier.path) === withoutSlash(later.path))
      .map((earlier) => ({
        later,
        methods: later.methods.filter((method) => earlier.methods.includes(method)),
        earlier: [earlier],
      }))
      .filter(({ methods }) => methods.length > 0),
  );
}

function withoutSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, "");
}

/** Whether every path that `narrow` matches is certainly matched by `wide`. */
export function coversPattern(wide: PathPattern, narrow: PathPattern): boolean {
  if (!wide.tail && (narrow.tail || wide.segments.length !== narrow.segments.length)) return false;
  if (wide.segments.length > narrow.segments.length) return false;
  const same = wide.segments.every((segment, index) => isSame(segment, narrow.segments[index]));
  return same || wide.segments.every((segment, index) => coversSegment(segment, narrow.segments[index]));
}

/** Whether some path may match both patterns; `false` only where that is certain. */
export function mayOverlap(one: PathPattern, other: PathPattern): boolean {
  const shared = Math.min(one.segments.length, other.segments.length);
  for (let at = 0; at < shared; at += 1) {
    const [segment, rival] = [one.segments[at], other.segments[at]];
    // An expression that may match a slash shifts the segments after it.
    if (reaches(segment) || reaches(rival)) return true;
    if (!mayBeSame(segment, rival)) return false;
  }
  // `/a/*` matches `/a` too.
  return (
    one.segments.length === other.segments.length || (one.segments.length < other.segments.length ? one : other).tail
  );
}

function reaches(segment: PathSegment | undefined): boolean {
  return segment?.kind === "expression" && !segment.plain;
}

function mayBeSame(one: PathSegment | undefined, other: PathSegment | undefined): boolean {
  if (one === undefined || other === undefined) return true;
  if (one.kind === "literal" && other.kind === "literal") return one.text === other.text;
  const [literal, rest] = one.kind === "literal" ? [one, other] : [other, one];
  if (literal.kind !== "literal" || rest.kind !== "expression") return true;
  return new RegExp(`^(?:${rest.source})$`).test(literal.text);
}

function coversSegment(wide: PathSegment, narrow: PathSegment | undefined): boolean {
  // An expression that may match a slash shifts the segments after it: then only the same pattern is certain.
  if (narrow === undefined || (narrow.kind === "expression" && !narrow.plain)) return false;
  switch (wide.kind) {
    case "literal":
      return isSame(wide, narrow);
    case "param":
      // One router lets a wildcard match an empty segment; a parameter never does.
      return narrow.kind !== "wildcard" && !isEmpty(narrow);
    case "wildcard":
      return !isEmpty(narrow);
    case "expression":
      if (!wide.plain) return false;
      if (narrow.kind === "literal") return new RegExp(`^(?:${wide.source})$`).test(narrow.text);
      return isSame(wide, narrow);
  }
}

/** A trailing slash. */
function isEmpty(segment: PathSegment): boolean {
  return segment.kind === "literal" && segment.text === "";
}

function isSame(one: PathSegment, other: PathSegment | undefined): boolean {
  switch (one.kind) {
    case "literal":
      return other?.kind === "literal" && other.text === one.text;
    case "expression":
      return other?.kind === "expression" && other.source === one.source;
    case "param":
    case "wildcard":
      return other?.kind === one.kind;
  }
}
