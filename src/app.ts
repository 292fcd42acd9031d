// The map: which request goes to which handler. Routes come from the configuration, in its order; the first one that
// matches protects, under the path as written or in its plainest form (see http/path.ts). Everything else passes through.
// Hono's router decides alone, without its application around it, which every request would pay for (README, "How fast it is").

import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import type { Config, ConfigProblem, Origin, Route } from "./config/resolved.ts";
import { hostname, isHost } from "./http/host.ts";
import { hasLooped } from "./http/loop.ts";
import { operatorPathMatcher } from "./http/operator-path.ts";
import { passThrough } from "./http/pass-through.ts";
import { plainestPath } from "./http/path.ts";
import { problemResponse, WELL_KNOWN_PATH } from "./http/problem-response.ts";
import { type Ports, protect } from "./http/protect.ts";
import { ReplayMemory } from "./http/replay-memory.ts";
import { withoutSession } from "./http/session-cookie.ts";
import { wellKnownResponse } from "./http/well-known.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** What operators need of the map. */
export interface Operators {
  /** Answers what they ask, under `config.operatorPath`. */
  readonly operate: Handle;
  /** Whether a request carries an operator's token, wherever it goes. */
  readonly isTheirs: (headers: Headers) => boolean;
}

const NO_OPERATORS: Operators = { operate: refuseOperator, isTheirs: () => false };

export function createApp(config: Config, ports: Ports, { operate, isTheirs }: Operators = NO_OPERATORS): Handle {
  const routes = routerOf(config.routes);
  const replays = new ReplayMemory();
  const matchOperators = operatorPathMatcher(config.operatorPath);
  const { operatorHostname } = config;
  return guarded(async (given, url) => {
    const isTheirHost = operatorHostname !== null && hostOf(given, url) === operatorHostname;
    const areHere = config.operatorListener === "shared" && (isTheirHost || operatorHostname === null);
    const path = url.pathname;
    // First, so that no route covers it.
    const match = matchOperators(given.url, path);
    if (match !== "none") return match === "plain" && areHere ? operate(given) : refuseOperator();
    // Nothing else is on their host, and their token goes nowhere else.
    if (isTheirHost || isTheirs(given.headers)) return refuseOperator();
    const request = withoutSession(given);
    const { method } = request;
    const plainest = plainestPath(path);
    if (plainest === WELL_KNOWN_PATH && isRead(method)) return wellKnownResponse(config);
    const route = routes(method, plainest) ?? (path === plainest ? null : routes(method, path));
    if (route === null) return passTo(request, url, config.origin, ports);
    if (hasLooped(route.origin, request.headers)) return refuseLoop();
    return (await protect(request, url, route, ports, replays)) ?? passTo(request, url, route.origin, ports);
  });
}

/** What answers on the operators' own listener: they alone, and nothing goes from here to an origin. */
export function createOperatorApp(config: Config, { operate }: Operators): Handle {
  const matchOperators = operatorPathMatcher(config.operatorPath);
  const { operatorHostname } = config;
  return guarded((request, url) => {
    const isTheirHost = operatorHostname === null || hostOf(request, url) === operatorHostname;
    const isPlain = matchOperators(request.url, url.pathname) === "plain";
    return isTheirHost && isPlain ? operate(request) : refuseOperator();
  });
}

/** Whatever happens inside, there is an answer; and nothing happens at all where the request names no host. */
function guarded(answer: (request: Request, url: URL) => Response | Promise<Response>): Handle {
  return async (request) => {
    const url = isHost(request.headers.get("host")) ? URL.parse(request.url) : null;
    if (url === null) return refuseUrl();
    try {
      return await answer(request, url);
    } catch (error) {
      // A bug. The same request with the same key is always safe to send again.
      console.error({ message: "unexpected error", reason: String(error) });
      return problemResponse({ code: "store-unavailable" }, null);
    }
  };
}

function hostOf({ headers }: Request, url: URL): string {
  return hostname(headers.get("host")) ?? url.hostname;
}

/** A Host header that names no host, or a target of which no URL can be made (RFC 9112, section 3.2). */
function refuseUrl(): Response {
  return problemResponse(
    { code: "request-invalid", reason: "The request's target and Host header make no URL." },
    null,
  );
}

function refuseOperator(): Response {
  return problemResponse({ code: "operator-not-found" }, null);
}

function refuseLoop(): Response {
  const message = "the request came back to the gateway: name a URL or a binding as the origin";
  console.error(`configuration: IDEMPOTENCY.origin: ${message}`);
  return problemResponse({ code: "configuration-invalid", problemCount: 1 }, null);
}

/** What answers while the configuration has problems, which the log names: nothing is forwarded, protected or not. */
export function createRefusingApp(problems: readonly ConfigProblem[]): Handle {
  return () => problemResponse({ code: "configuration-invalid", problemCount: problems.length }, null);
}

/** The first route, in the order of the configuration, that takes a request of this method to this path. */
function routerOf(routes: readonly Route[]): (method: string, path: string) => Route | null {
  const router = new SmartRouter<Route>({ routers: [new RegExpRouter(), new TrieRouter()] });
  for (const route of routes) for (const method of route.methods) router.add(method, route.path, route);
  return (method, path) => router.match(method, path)[0][0]?.[0] ?? null;
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function passTo(request: Request, url: URL, origin: Origin, { target }: Ports): Response | Promise<Response> {
  if (hasLooped(origin, request.headers)) return refuseLoop();
  const fetcher = target(origin);
  return fetcher === null
    ? problemResponse({ code: "origin-unreachable" }, null)
    : passThrough(request, url, origin, fetcher);
}
