// Decides what to do with a request, as plain data: from its line and headers alone, before its body is read and before anything is
// sent. The operators' path is checked first, so that no route can cover it.
// A request that a route protects always becomes an exchange, a refusal or a counted pass; it never passes unseen.

import { describeSources, singleHeaders } from "../config/key-source.ts";
import type { Config, Route } from "../config/resolved.ts";
import type { ClientProblem, Problem } from "../record/problem.ts";
import type { Endpoint, OwnRequest, Refusal, SpotToken } from "../request-feature.ts";
import { routeFinder } from "./find-route.ts";
import { ECHO_HEADER, HeaderSnapshot, type HeadersView } from "./headers.ts";
import { hostname } from "./host.ts";
import { type IdempotencyKey, parseKey } from "./key.ts";
import { hasLooped } from "./origin.ts";
import { operatorPathMatcher } from "./operator-path.ts";
import type { PassThroughRequest } from "./pass-through.ts";
import { plainestPath } from "./path.ts";
import { WELL_KNOWN_PATH } from "./problem-response.ts";
import { withoutSession } from "./session-cookie.ts";

export type Intent =
  /** An operator asks, and is answered here. */
  | { readonly kind: "operate" }
  /** A feature answers. */
  | OwnRequest
  /** A request for the published policy. */
  | { readonly kind: "publish" }
  /** To the origin and back, streamed. `route` is the one that lets it pass without a key; `null`: none matches. */
  | { readonly kind: "pass"; readonly passing: PassThroughRequest; readonly route: Route | null }
  | Refusal
  /** It came back to the gateway: the configured origin is the gateway itself. */
  | { readonly kind: "loop" }
  /** Refused by the route that protects it, which counts that. */
  | RefusedExchange
  | ExchangeIntent
  | SearchIntent;

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
}

/** A request on a route whose keys may be elsewhere than in headers: nobody has looked there yet. */
export interface SearchIntent {
  readonly kind: "search";
  readonly passing: PassThroughRequest;
  /** The request's. */
  readonly headers: HeadersView;
  readonly route: Route;
}

export type ReadIntent = (request: Request, url: URL) => Intent;

const REFUSE_OPERATOR: Refusal = { kind: "refuse", problem: { code: "operator-not-found" } };

/** `isOperators` spots tokens that no origin may get. The first endpoint that finds a request has it. */
export function intentReader(config: Config, isOperators: SpotToken, endpoints: readonly Endpoint[] = []): ReadIntent {
  const findRoute = routeFinder(config.routes);
  const matchOperators = operatorPathMatcher(config.operatorPath);
  const { operatorHostname, operatorListener, trustForwarded } = config;
  const withTokens = endpoints.filter(({ tokens }) => tokens !== undefined);
  const others = endpoints.filter(({ tokens }) => tokens === undefined);
  const findIn = (some: readonly Endpoint[], request: Request, url: URL): OwnRequest | Refusal | null => {
    for (const { find } of some) {
      const found = find(request, url, findRoute);
      if (found !== null) return found;
    }
    return null;
  };
  const keyHeaders = new Map(config.routes.map((route) => [route, singleHeaders(route.keyFrom)]));
  const keyNames = [...new Set([ECHO_HEADER, ...keyHeadersIn(config.routes)].map((name) => name.toLowerCase()))];
  return (given, url) => {
    const isTheirHost = operatorHostname !== null && hostOf(given, url) === operatorHostname;
    const match = matchOperators(given.url, url.pathname);
    if (match !== "none") {
      const areHere = operatorListener === "shared" && (isTheirHost || operatorHostname === null);
      return match === "plain" && areHere ? { kind: "operate" } : REFUSE_OPERATOR;
    }
    // Nothing else is served on the operators' host, and their token is never sent to an origin.
    const own = isTheirHost ? null : findIn(withTokens, given, url);
    if (own?.kind === "own") return own;
    if (isTheirHost || isOperators(given.headers)) return REFUSE_OPERATOR;
    if (own !== null) return own;
    for (const { tokens } of withTokens) if (tokens?.isTheirs(given.headers) === true) return tokens.refusal;
    const request = withoutSession(given);
    if (isRead(request.method) && plainestPath(url.pathname) === WELL_KNOWN_PATH) return { kind: "publish" };
    const found = findIn(others, request, url);
    if (found !== null) return found;
    const route = findRoute(request.method, url.pathname);
    if (route === "too-long") return { kind: "refuse", problem: PATH_TOO_LONG };
    const origin = route === null ? config.origin : route.origin;
    if (hasLooped(origin, request.headers)) return { kind: "loop" };
    const passing = { request, url, origin, trustForwarded, keyNames };
    if (route === null) return { kind: "pass", passing, route: null };
    return protectedIntent(passing, route, keyHeaders.get(route) ?? null);
  };
}

/** The headers that are a key each on some route. */
function keyHeadersIn(routes: readonly Route[]): readonly string[] {
  return routes.flatMap(({ keyFrom }) => keyFrom.flatMap((one) => (one.kind === "header" ? [one.name] : [])));
}

/** What a route makes of a request that it protects. `names`: those of the headers, if keys come from headers alone. */
function protectedIntent(passing: PassThroughRequest, route: Route, names: readonly string[] | null): Intent {
  const { request, url } = passing;
  const headers = new HeaderSnapshot(request.headers);
  if (names === null) return { kind: "search", passing, headers, route };
  const key = parseKey(headers, names, route.keyFormat);
  switch (key.kind) {
    case "absent": {
      if (route.key === "optional") return { kind: "pass", passing, route };
      const problem = { code: "key-missing", ways: describeSources(route.keyFrom) } as const;
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
  return hostname(headers.get("host")) ?? url.hostname;
}

/** The origin's router might take such a path for a protected one, so nothing is forwarded. */
const PATH_TOO_LONG: Problem = {
  code: "request-invalid",
  reason: "The path is too long for one with escapes, parameters or empty segments.",
};

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
