// The map: which request goes to which handler. Routes come from the configuration, in its order; the first one that
// matches protects, under the path as written or in its plainest form (see http/path.ts). Everything else passes through.
// Hono's router decides alone, without its application around it, which every request would pay for (README, "How fast it is").

import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import type { Config, ConfigProblem, Origin, Route } from "./config/resolved.ts";
import { hasLooped } from "./http/loop.ts";
import { passThrough } from "./http/pass-through.ts";
import { plainestPath } from "./http/path.ts";
import { problemResponse, WELL_KNOWN_PATH } from "./http/problem-response.ts";
import { type Ports, protect } from "./http/protect.ts";
import { ReplayMemory } from "./http/replay-memory.ts";
import { wellKnownResponse } from "./http/well-known.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** `operate` answers what operators ask, under `config.operatorPath`. */
export function createApp(config: Config, ports: Ports, operate: Handle = refuseOperator): Handle {
  const routes = routerOf(config.routes);
  const replays = new ReplayMemory();
  const answer = async (request: Request, url: URL): Promise<Response> => {
    const { method } = request;
    const path = url.pathname;
    const plainest = plainestPath(path);
    // First, so that no route covers it. Only as it is written: any other form is nobody's, and goes nowhere, since an
    // operator's token may come with it.
    if (isBelow(plainest, config.operatorPath)) return path === plainest ? operate(request) : refuseOperator();
    if (plainest === WELL_KNOWN_PATH && isRead(method)) return wellKnownResponse(config);
    const route = routes(method, plainest) ?? (path === plainest ? null : routes(method, path));
    if (route === null) return passTo(request, url, config.origin, ports);
    if (hasLooped(route.origin, request.headers)) return refuseLoop();
    return (await protect(request, url, route, ports, replays)) ?? passTo(request, url, route.origin, ports);
  };
  return async (request) => {
    const url = URL.parse(request.url);
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

/** A Host header, or a target, of which no URL can be made (RFC 9112, section 3.2). */
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

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");
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
