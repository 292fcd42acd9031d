// Idempotency in Workers KV, as people copy it: look the key up, put that it has started, call, put the response. Two requests that come together
// both find nothing, and both run. Workers KV itself is not here: its place takes an object with a row for each key, in the same process.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import * as v from "valibot";
import { shardOf } from "../floor/shard-of.ts";

interface Env {
  readonly ORIGIN: string;
  /** Leads to `Store`. */
  readonly KV: KVNamespace;
  readonly KEY_SHARD: DurableObjectNamespace<KeyShard>;
}

const entry = v.union([
  v.object({ state: v.literal("started") }),
  v.object({ state: v.literal("completed"), status: v.number(), body: v.string() }),
]);

const DAY_SECONDS = 86_400;

export default {
  async fetch(request: Request, { ORIGIN, KV }: Env): Promise<Response> {
    const key = request.headers.get("idempotency-key") ?? "";
    const found = await KV.get(key, "json");
    if (found !== null) {
      const known = v.parse(entry, found);
      if (known.state === "started") return new Response(null, { status: 409 });
      return new Response(known.body, { status: known.status });
    }
    await KV.put(key, JSON.stringify({ state: "started" }), { expirationTtl: 60 });
    const { pathname, search } = new URL(request.url);
    const response = await fetch(ORIGIN + pathname + search, request);
    const body = await response.text();
    const { status } = response;
    await KV.put(key, JSON.stringify({ state: "completed", status, body }), { expirationTtl: DAY_SECONDS });
    return new Response(body, response);
  },
};

/** What the runtime asks instead of Workers KV, in its protocol: GET and PUT of a key. */
export class Store extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Promise<Response> {
    const { KEY_SHARD } = this.env;
    return KEY_SHARD.getByName(String(shardOf(new URL(request.url).pathname))).fetch(request);
  }
}

export class KeyShard extends DurableObject<Env> {
  readonly #sql = this.ctx.storage.sql;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#sql.exec("CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID");
  }

  override async fetch(request: Request): Promise<Response> {
    const key = new URL(request.url).pathname;
    if (request.method === "PUT") {
      this.#sql.exec("INSERT OR REPLACE INTO entries (key, value) VALUES (?, ?)", key, await request.text());
      return new Response(null);
    }
    const [row] = this.#sql.exec<{ value: string }>("SELECT value FROM entries WHERE key = ?", key);
    return row === undefined ? new Response(null, { status: 404 }) : new Response(row.value);
  }
}
