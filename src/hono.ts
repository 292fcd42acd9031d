// `onceway/hono`: the gateway as a middleware of an application whose own handlers are the origin. A request that a route protects goes to
// the object that keeps its record, and the object calls the application through an entrypoint of the same Worker: so the handler
// runs on when its client has left, and once, however often the client retries. All other requests go to their handlers at once.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Env as HonoEnv, Hono, MiddlewareHandler } from "hono";
import { createOnceway, type Onceway, type OncewayOptions } from "./onceway.ts";

export { KeyShard } from "./shard/key-shard.ts";

/** What an application's `env` has when the gateway's object calls it. No client can set it: it is no header. */
const FROM_OBJECT: unique symbol = Symbol("from the object that keeps the record");

/**
 * Protects the routes of wrangler.toml. Must come before the handlers, and `originOf(app)` must be exported under the name that
 * `origin = { entrypoint = "…" }` gives. Middleware that comes before this one runs twice for a protected request: with the client's
 * request, and with the object's call.
 */
export function idempotency(options: OncewayOptions = {}): MiddlewareHandler {
  let onceway: Onceway | null = null;
  return async (c, next) => {
    if (isFromObject(c.env)) return next();
    onceway ??= createOnceway(options);
    c.res = await onceway.fetch(c.req.raw, async (request) => {
      c.req.raw = request;
      await next();
      return c.res;
    });
    return undefined;
  };
}

/** The class to export: `export class Origin extends originOf(app) {}`. */
export function originOf<E extends HonoEnv>(
  app: Pick<Hono<E>, "fetch">,
): new (ctx: ExecutionContext, env: Cloudflare.Env) => WorkerEntrypoint {
  return class extends WorkerEntrypoint {
    override fetch(request: Request): Response | Promise<Response> {
      const { ctx } = this;
      const env: object = this.env;
      const own = { ...env, [FROM_OBJECT]: true };
      return Reflect.apply(app.fetch, app, [request, own, ctx]);
    }
  };
}

function isFromObject(env: unknown): boolean {
  return typeof env === "object" && env !== null && FROM_OBJECT in env;
}
