// The map: which request goes to which handler. Routes come from the configuration, in its order; one that matches any
// form of the path protects (see http/find-route.ts). Everything else passes through.
// Hono's router decides alone, without its application around it, which every request would pay for (http/README.md).

import type { Config, ConfigProblem } from "./config/resolved.ts";
import { routeFinder } from "./http/find-route.ts";
import { hostname, isHost } from "./http/host.ts";
import { hasLooped } from "./http/origin.ts";
import { operatorPathMatcher } from "./http/operator-path.ts";
import { type Passing, passThrough } from "./http/pass-through.ts";
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
  const findRoute = routeFinder(config.routes);
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
    const route = findRoute(method, path);
    if (route === "too-long") return refusePath();
    const { trustForwarded } = config;
    if (route === null) return passTo({ request, url, origin: config.origin, trustForwarded }, ports);
    if (hasLooped(route.origin, request.headers)) return refuseLoop();
    const answered = await protect(request, url, route, ports, replays);
    return answered ?? passTo({ request, url, origin: route.origin, trustForwarded }, ports);
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

/** Such a path may be a protected one's for the origin's router; so nothing is forwarded. */
function refusePath(): Response {
  const reason = "The path is too long for one with escapes, parameters or empty segments.";
  return problemResponse({ code: "request-invalid", reason }, null);
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

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function passTo(passing: Passing, { target }: Ports): Response | Promise<Response> {
  const { request, origin } = passing;
  if (hasLooped(origin, request.headers)) return refuseLoop();
  const fetcher = target(origin);
  return fetcher === null ? problemResponse({ code: "origin-unreachable" }, null) : passThrough(passing, fetcher);
}
