// `onceway/hono`: the gateway as a middleware of an application whose own handlers are the origin. A request that a route protects goes to
// the object that keeps its record, and the object calls the application through an entrypoint of the same Worker: so the handler
// runs on when its client has left, and once, however often the client retries. All other requests go to their handlers at once.

import { WorkerEntrypoint } from "cloudflare:workers";
import { createGateway } from "./worker/onceway.ts";

export { KeyShard } from "./worker/key-shard.ts";

/** What is used of Hono's `Context`: an application may have another version of Hono than the gateway. */
interface HonoContext {
  readonly env: unknown;
  readonly req: { raw: Request };
  res: Response;
}

export type Middleware = (c: HonoContext, next: () => Promise<void>) => Promise<void>;

interface HonoApp {
  readonly fetch: (request: Request, env: never, ctx: never) => Response | Promise<Response>;
}

/** What an application's `env` has when the gateway's object calls it. No client can set it: it is no header. */
const FROM_OBJECT: unique symbol = Symbol("from the object that keeps the record");

/**
 * Protects the routes of wrangler.toml. Must come before the handlers, and `originOf(app)` must be exported under the name that
 * `origin = { entrypoint = "…" }` gives. Middleware that comes before this one runs twice for a protected request: with the client's
 * request, and with the object's call.
 */
export function idempotency(): Middleware {
  const gateway = createGateway();
  return async (c, next) => {
    if (isFromObject(c.env)) return next();
    const answer = await gateway.fetch(c.req.raw, async (request) => {
      c.req.raw = request;
      await next();
      return c.res;
    });
    // Middleware in front may add headers, which it cannot to what came from an object. An upgrade cannot be made anew.
    c.res = answer.webSocket === null ? new Response(answer.body, answer) : answer;
  };
}

/** The class to export: `export class Origin extends originOf(app) {}`. */
export function originOf(app: HonoApp): new (ctx: ExecutionContext, env: Cloudflare.Env) => WorkerEntrypoint {
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
