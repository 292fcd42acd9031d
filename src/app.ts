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

export function createApp(config: Config, ports: Ports): Handle {
  const pass = (request: Request): Response | Promise<Response> => passTo(request, config.origin, ports);
  // Matched as written only after the plainest form has matched nothing: see http/path.ts.
  const replays = new ReplayMemory();
  const literal = routed(config, ports, replays, literalPath);
  literal.all("*", ({ req }) => pass(req.raw));
  const plainest = routed(config, ports, replays, plainestPath);
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

function refuseLoop(): Response {
  const problem = "origin: the request came back to the gateway; name a URL or a binding as the origin";
  return problemResponse({ code: "configuration-invalid", problems: [problem] }, null);
}

/** What answers while the configuration has problems: nothing is forwarded, protected or not. */
export function createRefusingApp(problems: readonly ConfigProblem[]): Handle {
  const lines = problems.map(({ path, message }) => `${path}: ${message}`);
  return () => problemResponse({ code: "configuration-invalid", problems: lines }, null);
}

function routed(config: Config, ports: Ports, replays: ReplayMemory, pathOf: (url: string) => string): Hono {
  const app = new Hono({ getPath: (request) => pathOf(request.url) });
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
  return app;
}

function passTo(request: Request, origin: Origin, { target }: Ports): Response | Promise<Response> {
  if (hasLooped(origin, request.headers)) return refuseLoop();
  const fetcher = target(origin);
  return fetcher === null
    ? problemResponse({ code: "origin-unreachable" }, null)
    : passThrough(request, origin, fetcher);
}
