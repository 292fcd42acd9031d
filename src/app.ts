// The map: which request goes to which handler. Routes come from the configuration, in its order; one that matches any
// form of the path protects (see http/find-route.ts). Everything else passes through.
// Hono's router decides alone, without its application around it, which every request would pay for (README, "How fast it is").

import type { Config, ConfigProblem } from "./config/resolved.ts";
import { routeFinder } from "./http/find-route.ts";
import { hasLooped } from "./http/loop.ts";
import { type Passing, passThrough } from "./http/pass-through.ts";
import { plainestPath } from "./http/path.ts";
import { problemResponse, WELL_KNOWN_PATH } from "./http/problem-response.ts";
import { type Ports, protect } from "./http/protect.ts";
import { ReplayMemory } from "./http/replay-memory.ts";
import { wellKnownResponse } from "./http/well-known.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** `operate` answers what operators ask, under `config.operatorPath`. */
export function createApp(config: Config, ports: Ports, operate: Handle = refuseOperator): Handle {
  const findRoute = routeFinder(config.routes);
  const replays = new ReplayMemory();
  const answer = async (request: Request, url: URL): Promise<Response> => {
    const { method } = request;
    const path = url.pathname;
    const plainest = plainestPath(path);
    // First, so that no route covers it. Only as it is written: any other form is nobody's, and goes nowhere, since an
    // operator's token may come with it.
    if (isBelow(plainest, config.operatorPath)) return path === plainest ? operate(request) : refuseOperator();
    if (plainest === WELL_KNOWN_PATH && isRead(method)) return wellKnownResponse(config);
    const route = findRoute(method, path);
    if (route === "too-long") return refusePath();
    const { trustForwarded } = config;
    if (route === null) return passTo({ request, url, origin: config.origin, trustForwarded }, ports);
    if (hasLooped(route.origin, request.headers)) return refuseLoop();
    const answered = await protect(request, url, route, ports, replays);
    return answered ?? passTo({ request, url, origin: route.origin, trustForwarded }, ports);
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

/** Such a path may be a protected one's for the origin's router; so nothing is forwarded. */
function refusePath(): Response {
  const reason = "The path is too long for one with escapes, parameters or empty segments.";
  return problemResponse({ code: "request-invalid", reason }, null);
}

function refuseOperator(): Response {
  return problemResponse({ code: "operator-not-found" }, null);
}

function refuseLoop(): Response {
  const problem = "origin: the request came back to the gateway; name a URL or a binding as the origin";
  return problemResponse({ code: "configuration-invalid", problems: [problem] }, null);
}

/** What answers while the configuration has problems: nothing is forwarded, protected or not. */
export function createRefusingApp(problems: readonly ConfigProblem[]): Handle {
  const lines = problems.map(({ path, message }) => `${path}: ${message}`);
  return () => problemResponse({ code: "configuration-invalid", problems: lines }, null);
}

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");
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
