// The map: which request goes to which handler. Routes come from the configuration, in its order; the first one that
// matches protects. Everything else passes through.

import { Hono } from "hono";
import type { Config, ConfigProblem, Origin } from "./config/resolved.ts";
import { hasLooped } from "./http/loop.ts";
import { passThrough } from "./http/pass-through.ts";
import { literalPath, plainestPath } from "./http/path.ts";
import { problemResponse, WELL_KNOWN_PATH } from "./http/problem-response.ts";
import { type Ports, protect } from "./http/protect.ts";
import { ReplayMemory } from "./http/replay-memory.ts";
import { wellKnownResponse } from "./http/well-known.ts";

type Handle = (request: Request) => Response | Promise<Response>;

/** `operate` answers what operators ask, under `config.operatorPath`. */
export function createApp(config: Config, ports: Ports, operate: Handle = refuseOperator): Handle {
  const pass = (request: Request): Response | Promise<Response> => passTo(request, config.origin, ports);
  // Matched as written only after the plainest form has matched nothing: see http/path.ts.
  const replays = new ReplayMemory();
  const literal = new Hono({ getPath: (request) => literalPath(request.url) });
  addRoutes(literal, config, ports, replays);
  literal.all("*", ({ req }) => pass(req.raw));
  const plainest = new Hono({ getPath: (request) => plainestPath(request.url) });
  // First, so that no route covers it. Only as it is written: any other form is nobody's, and goes nowhere, since an
  // operator's token may come with it.
  plainest.all(`${config.operatorPath}/*`, ({ req }) =>
    literalPath(req.raw.url) === plainestPath(req.raw.url) ? operate(req.raw) : refuseOperator(),
  );
  addRoutes(plainest, config, ports, replays);
  plainest.all("*", ({ req }) =>
    literalPath(req.raw.url) === plainestPath(req.raw.url) ? pass(req.raw) : literal.fetch(req.raw),
  );
  return (request) => (URL.canParse(request.url) ? plainest.fetch(request) : refuseUrl());
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
  const problem = "origin: the request came back to the gateway; name a URL or a binding as the origin";
  return problemResponse({ code: "configuration-invalid", problems: [problem] }, null);
}

/** What answers while the configuration has problems: nothing is forwarded, protected or not. */
export function createRefusingApp(problems: readonly ConfigProblem[]): Handle {
  const lines = problems.map(({ path, message }) => `${path}: ${message}`);
  return () => problemResponse({ code: "configuration-invalid", problems: lines }, null);
}

function addRoutes(app: Hono, config: Config, ports: Ports, replays: ReplayMemory): void {
  app.get(WELL_KNOWN_PATH, () => wellKnownResponse(config));
  for (const route of config.routes) {
    app.on([...route.methods], route.path, async ({ req }) => {
      if (hasLooped(route.origin, req.raw.headers)) return refuseLoop();
      return (await protect(req.raw, route, ports, replays)) ?? passTo(req.raw, route.origin, ports);
    });
  }
  // A bug. The same request with the same key is always safe to send again.
  app.onError((error) => {
    console.error({ message: "unexpected error", reason: String(error) });
    return problemResponse({ code: "store-unavailable" }, null);
  });
}

function passTo(request: Request, origin: Origin, { target }: Ports): Response | Promise<Response> {
  if (hasLooped(origin, request.headers)) return refuseLoop();
  const fetcher = target(origin);
  return fetcher === null
    ? problemResponse({ code: "origin-unreachable" }, null)
    : passThrough(request, origin, fetcher);
}
