// `createOnceway`: a gateway as the handlers of a Worker. Its types name nothing of the gateway's own, because the package has the types of its
// entries alone.

import { createGateway } from "./onceway.ts";

export interface OncewayOptions<Env = unknown> {
  /**
   * Answers each request that no route protects, as the `fetch` of a Worker does; for an application, `app.fetch`. The request comes without the
   * headers that only the gateway may set, whatever its client sent. If this function throws, the error is logged and the client gets 502
   * `origin-dropped`.
   * @defaultValue the configuration's `origin` answers
   */
  readonly unprotected?: ExportedHandlerFetchHandler<Env>;
}

/** A gateway, and the handlers of a Worker that is one: `export default createOnceway()`. They never throw, and need no `this`. */
export interface Onceway<Env = unknown> {
  /** Answers a request: from its record, through the object that keeps the record, or, if no route protects it, as `unprotected` says. */
  fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response>;
  /** Consumes a batch of a queue that the configuration lists. All messages of another queue are retried. */
  queue(batch: MessageBatch): Promise<void>;
  /** For a cron trigger: looks for shards that do not answer, if a destination asks for that alert (src/features/outbox/README.md). */
  scheduled(): Promise<void>;
  /** Answers requests of the operators' own listener (src/serve/README.md). No client's request may come here. */
  operate(request: Request): Promise<Response>;
}

/**
 * Makes the gateway that the Worker's configuration describes. Call it once, when the Worker starts. Problems of the configuration
 * are logged then, and every request is refused with 500 `configuration-invalid` until they are mended. All settings are in the configuration,
 * because the objects read it too, and do not see this call.
 *
 * @throws {TypeError} if an option is unknown or invalid, or if the binding `KEY_SHARD` is not a Durable Object namespace. Its class is
 * `KeyShard`, which the Worker must export.
 *
 * @example
 * ```ts
 * import { createOnceway } from "onceway";
 *
 * export { KeyShard } from "onceway";
 * export default createOnceway({ unprotected: (request, env: Env) => env.ASSETS.fetch(request) });
 * ```
 */
export function createOnceway<Env = unknown>(options: OncewayOptions<Env> = {}): Onceway<Env> {
  checkOptions(options);
  const { unprotected } = options;
  const { fetch: handle, ...gateway } = createGateway();
  return {
    ...gateway,
    fetch: (request, env, ctx) =>
      handle(request, unprotected === undefined ? undefined : (passed) => unprotected(passed, env, ctx)),
  };
}

/** For callers without types, above all one that gives `env`. */
function checkOptions(options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError("createOnceway: the options must be an object, such as { unprotected: app.fetch }");
  }
  for (const [name, value] of Object.entries(options)) {
    if (name !== "unprotected") {
      const message = 'the only option is "unprotected", and settings are in wrangler.toml';
      throw new TypeError(`createOnceway: unknown option ${JSON.stringify(name)}: ${message}`);
    }
    if (value !== undefined && typeof value !== "function") {
      throw new TypeError("createOnceway: unprotected must be a function of a request, env and ctx, such as app.fetch");
    }
  }
}
