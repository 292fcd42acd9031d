// Decides what to do with a request, as plain data: from its line and headers alone, before its body is read and before anything is
// sent. The operators' path is checked first, so that no route can cover it.
// A request that a route protects always becomes an exchange, a refusal or a counted pass; it never passes unseen. The first route that
// matches protects it, in the order of the configuration. If the forms of a path (see path.ts) match different routes, the strictest one
// counts, because the gateway cannot know which form the origin's router uses. A different case of letters is a form too, because many
// routers ignore case (Express, ASP.NET).

import { describeSources, singleHeaders } from "../config/key-source.ts";
import { type Config, protectsKeys, type Route } from "../config/resolved.ts";
import type { ClientProblem, Problem } from "../record/problem.ts";
import type { DivertRequest, Endpoint, OwnRequest, RefusalIntent, ReplayEdits, SpotToken } from "../request-feature.ts";
import { ECHO_HEADER, HeaderSnapshot, type HeadersView } from "./headers.ts";
import { hostnameOf } from "./host.ts";
import { type IdempotencyKey, parseKey } from "./key.ts";
import { hasLooped } from "./origin.ts";
import { operatorPathMatcher } from "./operator-path.ts";
import type { PassThroughRequest } from "./pass-through.ts";
import { pathForms, plainestPath } from "./path.ts";
import { WELL_KNOWN_PATH } from "./problem-response.ts";
import { withoutSession } from "./session-cookie.ts";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { parsePathPattern, type PathPattern, type PathSegment } from "../config/path-pattern.ts";
import type { KeyRule, StoreFailureRule } from "../config/words.ts";
import type { UnknownRule } from "../record/record.ts";

export type Intent =
  /** An operator asks, and is answered here. */
  | { readonly kind: "operate" }
  /** A feature answers. */
  | OwnRequest
  /** A request for the published policy. */
  | { readonly kind: "policy" }
  | PassIntent
  | RefusalIntent
  /** It came back to the gateway: the configured origin is the gateway itself. */
  | { readonly kind: "loop" }
  /** Refused by the route that protects it, which counts that. */
  | RefusedExchange
  | ExchangeIntent
  | SearchIntent;

/** To the origin and back, streamed. `route` is the one that lets it pass; `null`: none matches. */
export interface PassIntent {
  readonly kind: "pass";
  readonly passing: PassThroughRequest;
  readonly route: Route | null;
}

export interface RefusedExchange {
  readonly kind: "refuse-exchange";
  readonly request: Request;
  readonly problem: ClientProblem;
  readonly headers: HeadersView;
  readonly route: Route;
}

/** A request with a key, on a route that protects it. */
export interface ExchangeIntent {
  readonly kind: "exchange";
  readonly request: Request;
  /** The request's. */
  readonly headers: HeadersView;
  readonly url: URL;
  readonly route: Route;
  readonly key: IdempotencyKey;
  /** What a replay has for this call. Absent: it is no JSON-RPC call. */
  readonly edits?: ReplayEdits;
}

/**
 * A request whose key may be elsewhere than in headers, or is made from content, or of which only the body says whether it is protected: nobody
 * has looked there yet.
 */
export interface SearchIntent {
  readonly kind: "search";
  readonly passing: PassThroughRequest;
  /** The request's. */
  readonly headers: HeadersView;
  readonly route: Route;
  /** All JSON-RPC routes of this path, in order; empty if its route is none. */
  readonly alternatives: readonly Route[];
}

export type ReadIntent = (request: Request, url: URL) => Intent;

const REFUSE_OPERATOR: RefusalIntent = { kind: "refuse", problem: { code: "operator-not-found" } };

/** `isOperators` spots tokens that no origin may get. The first endpoint that finds a request has it. */
export function intentReader(
  config: Config,
  isOperators: SpotToken,
  endpoints: readonly Endpoint[] = [],
  divert: DivertRequest = () => null,
): ReadIntent {
  const findRoute = routeFinder(config.routes);
  const matchOperators = operatorPathMatcher(config.operatorPath);
  const { operatorHostname, hasOperatorPort, trustForwarded } = config;
  const protectsAny = config.routes.some(protectsKeys);
  const withTokens = endpoints.filter(({ tokens }) => tokens !== undefined);
  const others = endpoints.filter(({ tokens }) => tokens === undefined);
  const findIn = (some: readonly Endpoint[], request: Request, url: URL): OwnRequest | RefusalIntent | null => {
    for (const { under, find } of some) {
      if (under !== undefined && !url.pathname.startsWith(under)) continue;
      const found = find(request, url, findRoute);
      if (found !== null) return found;
    }
    return null;
  };
  const reading = new Map(config.routes.map((route) => [route, readingOf(route, config.routes)]));
  const keyNames = [...new Set([ECHO_HEADER, ...keyHeadersIn(config.routes)].map((name) => name.toLowerCase()))];
  return (given, url) => {
    const isTheirHost = operatorHostname !== null && hostOf(given, url) === operatorHostname;
    const match = matchOperators(given.url, url.pathname);
    if (match !== "none") {
      const areHere = !hasOperatorPort && (isTheirHost || operatorHostname === null);
      return match === "plain" && areHere ? { kind: "operate" } : REFUSE_OPERATOR;
    }
    // Nothing else is served on the operators' host, and their token is never sent to an origin.
    const own = isTheirHost ? null : findIn(withTokens, given, url);
    if (own?.kind === "own") return own;
    if (isTheirHost || isOperators(given.headers)) return REFUSE_OPERATOR;
    if (own !== null) return own;
    for (const { tokens } of withTokens) if (tokens?.isTheirs(given.headers) === true) return tokens.refusal;
    const request = withoutSession(given);
    if (isRead(request.method) && plainestPath(url.pathname) === WELL_KNOWN_PATH) return { kind: "policy" };
    const found = findIn(others, request, url);
    if (found !== null) return found;
    const maybe = findRoute(request.method, url.pathname);
    if (maybe === "too-long" && protectsAny) return { kind: "refuse", problem: PATH_TOO_LONG };
    const route = maybe === "too-long" ? null : maybe;
    const origin = route === null ? config.origin : route.origin;
    if (hasLooped(origin, request.headers)) return { kind: "loop" };
    const passing = { request, url, origin, trustForwarded, keyNames };
    if (route === null) return { kind: "pass", passing, route: null };
    const diverted = route.trial === null ? null : divert(request, url, route);
    // As a request that no route protects, and without a word about its key: its client must see no difference.
    if (diverted !== null) return { kind: "pass", passing: { ...passing, keyNames: [], ...diverted }, route };
    return protectedIntent(passing, route, reading.get(route) ?? readingOf(route, config.routes));
  };
}

/** How the key of a route's requests is found. */
interface RouteReading {
  /** The headers' names, if keys come from headers alone and no body has to be read first. */
  readonly names: readonly string[] | null;
  readonly alternatives: readonly Route[];
}

export function readingOf({ path, jsonrpc, keyFrom }: Route, routes: readonly Route[]): RouteReading {
  if (jsonrpc === null) return { names: singleHeaders(keyFrom), alternatives: [] };
  return { names: null, alternatives: routes.filter((other) => other.jsonrpc !== null && other.path === path) };
}

/** The headers that are a key each on some route. */
function keyHeadersIn(routes: readonly Route[]): readonly string[] {
  return routes.flatMap(({ keyFrom }) => keyFrom.flatMap((one) => (one.kind === "header" ? [one.name] : [])));
}

/** What a route makes of a request that it protects. */
export function protectedIntent(
  passing: PassThroughRequest,
  route: Route,
  { names, alternatives }: RouteReading,
): RefusedExchange | ExchangeIntent | SearchIntent | PassIntent {
  const { request, url } = passing;
  const headers = new HeaderSnapshot(request.headers);
  if (names === null) return { kind: "search", passing, headers, route, alternatives };
  const key = parseKey(headers, names, route.keyFormat);
  switch (key.kind) {
    case "absent": {
      if (route.contentKey !== null) return { kind: "search", passing, headers, route, alternatives };
      if (route.key === "optional") return { kind: "pass", passing, route };
      const problem = { code: "key-missing", ways: describeSources(route) } as const;
      return { kind: "refuse-exchange", request, problem, headers, route };
    }
    case "invalid":
      return { kind: "refuse-exchange", request, problem: { code: "key-invalid", reason: key.reason }, headers, route };
    case "key":
      return { kind: "exchange", request, headers, url, route, key };
  }
}

/** The host that a request names, without its port. */
export function hostOf({ headers }: Request, url: URL): string {
  return hostnameOf(headers.get("host")) ?? url.hostname;
}

/** The origin's router might take such a path for a protected one, so nothing is forwarded. */
const PATH_TOO_LONG: Problem = {
  code: "request-invalid",
  reason: "The path is too long for one with escapes, parameters or empty segments.",
};

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** `null`: no route protects the request. `too-long`: unknown, because the path is too long to compare all its forms. */
export type FindRoute = (method: string, path: string) => Route | "too-long" | null;

export function routeFinder(routes: readonly Route[]): FindRoute {
  const router = new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });
  for (const route of routes) for (const method of route.methods) router.add(method, route.path, route);
  const methods = new Set(routes.flatMap((route) => route.methods));
  const inOrder = (some: ReadonlySet<Route>): readonly Route[] => routes.filter((route) => some.has(route));
  const recasings = recasingsOf(routes);
  const hasTrailingSlash = routes.some(({ path }) => path.length > 1 && path.endsWith("/"));
  const first = (method: string, path: string): Route | null => router.match(method, path)[0][0]?.[0] ?? null;

  return (method, path) => {
    if (!methods.has(method)) return null;
    const asWritten = pathForms(path);
    if (asWritten === null) return "too-long";
    // Most paths have one form and one spelling.
    const isPlain = asWritten.length === 1 && !hasTrailingSlash;
    if (isPlain && recasings.every((recase) => recase(path) === path)) return first(method, path);
    const spellings = [...asWritten, ...recasings.flatMap((recase) => asWritten.map(recase))];
    // Routers that ignore a trailing slash run the handler of `/orders/` for `/orders` too.
    const forms = new Set(hasTrailingSlash ? spellings.flatMap((form) => [form, `${form}/`]) : spellings);
    if (forms.size === 1) return first(method, path);
    const found = new Set<Route>();
    for (const form of forms) {
      const route = first(method, form);
      if (route !== null) found.add(route);
    }
    return strictestRoute(inOrder(found));
  };
}

/**
 * The strictest of several routes that one request could match: one on trial is the laxest; then by `key`, then by `graphql` and `jsonrpc`, then by `unknown`, then
 * by `on_store_failure`; of equals the first. The settings of two routes are never mixed.
 */
export function strictestRoute(routes: readonly Route[]): Route | null {
  let strictest: Route | null = null;
  for (const route of routes) if (strictest === null || laxity(route) < laxity(strictest)) strictest = route;
  return strictest;
}

function laxity({ key, graphql, jsonrpc, rules, onStoreFailure, trial }: Route): number {
  const unprotected = trial === null ? 0 : 1 - trial.protectedShare;
  return (
    unprotected * 100_000 +
    KEY[key] * 100 +
    (graphql || jsonrpc !== null ? 50 : 0) +
    UNKNOWN[rules.policy.unknown] * 10 +
    STORE[onStoreFailure]
  );
}

const KEY: Readonly<Record<KeyRule, number>> = { required: 0, optional: 1 };
const UNKNOWN: Readonly<Record<UnknownRule, number>> = { hold: 0, verify: 1, retry: 2 };
const STORE: Readonly<Record<StoreFailureRule, number>> = { closed: 0, open: 1 };

type Recase = (path: string) => string;

/**
 * Functions that change the case of a path's segments to the case that routes use. One covers every name that all routes spell
 * the same way. Each route with a name that other routes spell differently gets a function of its own. If two routes differ
 * only by case, case counts, and neither gets one.
 */
function recasingsOf(routes: readonly Route[]): readonly Recase[] {
  const patterns = routes.flatMap(patternsOf);
  const spellings = new Map<string, string | null>();
  for (const text of patterns.flatMap(({ segments }) => segments.flatMap(literalOf))) {
    const known = spellings.get(text.toLowerCase());
    spellings.set(text.toLowerCase(), known === undefined || known === text ? text : null);
  }
  const isLower = [...spellings].every(([lower, text]) => lower === text);
  const common: Recase = (path) => {
    if (isLower && path === path.toLowerCase()) return path;
    return path
      .split("/")
      .map((segment) => spellings.get(segment.toLowerCase()) ?? segment)
      .join("/");
  };
  const isOdd = (segment: PathSegment): boolean =>
    literalOf(segment).some((text) => spellings.get(text.toLowerCase()) === null);
  const hasTwin = (one: PathPattern): boolean =>
    patterns.some(
      (other) => shapeOf(other) !== shapeOf(one) && shapeOf(other).toLowerCase() === shapeOf(one).toLowerCase(),
    );
  const odd = patterns.filter((pattern) => pattern.segments.some(isOdd) && !hasTwin(pattern));
  return [common, ...odd.map(recasingOf)];
}

/** If the path begins like the pattern except for case, changes that beginning to the pattern's case. */
function recasingOf({ segments }: PathPattern): Recase {
  return (path) => {
    const parts = path.split("/", segments.length + 1);
    const rest = path.slice(parts.join("/").length);
    for (const [at, segment] of segments.entries()) {
      if (segment.kind !== "literal") continue;
      if (parts[at + 1]?.toLowerCase() !== segment.text.toLowerCase()) return path;
      parts[at + 1] = segment.text;
    }
    return parts.join("/") + rest;
  };
}

function patternsOf({ path }: Route): readonly PathPattern[] {
  const patterns = parsePathPattern(path);
  return patterns.ok ? patterns.value : [];
}

function literalOf(segment: PathSegment): readonly string[] {
  return segment.kind === "literal" ? [segment.text] : [];
}

/** Two patterns with the same shape match the same paths. */
function shapeOf({ segments, tail }: PathPattern): string {
  return [...segments.map((segment) => literalOf(segment)[0] ?? ":"), ...(tail ? ["*"] : [])].join("/");
}
