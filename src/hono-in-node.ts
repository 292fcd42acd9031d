// `onceway/hono` where there are no Durable Objects: the tests of an application in plain Node. Requests pass through, and nothing is
// protected; what the middleware does is tested inside workerd (package/README.md, "Testing").

import type { Middleware } from "./hono.ts";

export function idempotency(): Middleware {
  return (_c, next) => next();
}

/** The same shape as the class in workerd, so that the module which exports it loads. */
export function originOf(app: { readonly fetch: (request: Request, ...rest: never[]) => unknown }): object {
  return class Origin {
    fetch(request: Request): unknown {
      return app.fetch(request);
    }
  };
}

/** Nothing makes one here. */
export const KeyShard: unknown = class KeyShard {
  readonly name = "KeyShard";
};
