// An origin with real routers: Fastify and Express, each with its defaults and with other settings. A request names its router
// in a header. The origin reports which handlers ran, and with which attempt.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import express from "express";
import fastify from "fastify";
import { listen } from "../origin-server.ts";

/** The routes, in the syntax of the gateway's configuration. */
export const PATHS = [
  "/v1/orders/:id",
  "/v1/payments/*",
  "/v1/refunds",
  "/v1/carts/:id/items",
  "/v1/drafts/",
  "/v1/SKUs/:sku{[A-Z]+}",
] as const;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

export interface HandlerRun {
  readonly case: string;
  readonly router: string;
  /** The route's path. */
  readonly path: string;
  readonly target: string;
  readonly attempt: string | null;
}

export interface RoutersOrigin {
  readonly url: string;
  readonly routers: readonly string[];
  /** Of all handlers since the start. */
  readonly runs: readonly HandlerRun[];
  close(): Promise<void>;
}

export async function startRoutersOrigin(): Promise<RoutersOrigin> {
  const runs: HandlerRun[] = [];
  const ran = (request: IncomingMessage, path: string): void => {
    const header = (name: string): string | null => {
      const value = request.headers[name];
      return typeof value === "string" ? value : null;
    };
    const target = header("x-target") ?? "";
    const router = header("x-router") ?? "";
    runs.push({ case: header("x-case") ?? "", router, path, target, attempt: header("idempotency-attempt") });
  };
  const loose = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };
  const routers = new Map<string, Handle>([
    ["fastify", await fastifyOf(ran, {})],
    ["fastify, loose", await fastifyOf(ran, loose)],
    ["fastify, semicolons", await fastifyOf(ran, { ...loose, useSemicolonDelimiter: true })],
    ["express", expressOf(ran, {})],
    ["express, strict", expressOf(ran, { caseSensitive: true, strict: true })],
    // As behind a proxy that decodes what it passes on.
    ["decoded, then express", decodedFirst(expressOf(ran, {}))],
    ["decoded, then fastify", decodedFirst(await fastifyOf(ran, loose))],
  ]);
  const server: Server = createServer((request, response) => {
    const name = request.headers["x-router"];
    const handle = typeof name === "string" ? routers.get(name) : undefined;
    if (handle === undefined) response.writeHead(500).end("no such router");
    else handle(request, response);
  });
  const { port } = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    routers: [...routers.keys()],
    runs,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Ran = (request: IncomingMessage, path: string) => void;

async function fastifyOf(ran: Ran, routerOptions: Readonly<Record<string, boolean>>): Promise<Handle> {
  const app = fastify({ routerOptions });
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  for (const path of PATHS) {
    // In its syntax, an expression stands in parentheses.
    app.post(path.replace(/\{(.*)\}/, "($1)"), (request, reply) => {
      ran(request.raw, path);
      return reply.code(201).send("done");
    });
  }
  await app.ready();
  return (request, response) => app.routing(request, response);
}

function expressOf(ran: Ran, options: { readonly caseSensitive?: boolean; readonly strict?: boolean }): Handle {
  const app = express();
  const router = express.Router(options);
  // It knows no expressions, and its wildcards have a name.
  for (const path of PATHS.filter((one) => !one.includes("{"))) {
    router.post(path.replace("*", "{*rest}"), (request, response) => {
      ran(request, path);
      response.status(201).send("done");
    });
  }
  app.use(router);
  app.use((_request, response) => void response.status(404).end());
  // Of a path that cannot be decoded.
  app.use((_error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(400).end();
  });
  return (request, response) => void app(request, response);
}

function decodedFirst(handle: Handle): Handle {
  return (request, response) => {
    const [path = "", ...query] = (request.url ?? "").split("?");
    try {
      request.url = [encodeURI(decodeURIComponent(path)).replaceAll("%25", "%"), ...query].join("?");
    } catch {
      response.writeHead(400).end();
      return;
    }
    handle(request, response);
  };
}
