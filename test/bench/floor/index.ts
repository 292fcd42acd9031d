// The least that any correct design needs, as a baseline for the gateway: the key names one of 64 objects, which writes a row
// before the call and the answer into it after the call. No scope, no fingerprint, no deadline, no alarm, no duplicates, no
// header left out, no handling of clients that leave.

import { shardOf } from "./shard-of.ts";

interface Env {
  readonly ORIGIN: string;
  readonly SHARDS?: number;
  readonly KEY_SHARD: DurableObjectNamespace;
}

const ids = new Map<number, DurableObjectId>();

export default {
  fetch(request: Request, { KEY_SHARD, SHARDS }: Env): Promise<Response> {
    const shard = shardOf(request.headers.get("idempotency-key") ?? "", SHARDS);
    const id = ids.get(shard) ?? KEY_SHARD.idFromName(String(shard));
    ids.set(shard, id);
    return KEY_SHARD.get(id).fetch(request);
  },
};

export class KeyShard {
  readonly #sql: SqlStorage;
  readonly #origin: string;

  constructor({ storage }: DurableObjectState, { ORIGIN }: Env) {
    this.#sql = storage.sql;
    this.#origin = ORIGIN;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS records (id TEXT PRIMARY KEY, status INTEGER, body BLOB) WITHOUT ROWID");
  }

  async fetch(request: Request): Promise<Response> {
    const key = request.headers.get("idempotency-key");
    const { pathname, search } = new URL(request.url);
    this.#sql.exec("INSERT INTO records (id) VALUES (?)", key);
    const response = await fetch(this.#origin + pathname + search, request);
    const body = await response.arrayBuffer();
    this.#sql.exec("UPDATE records SET status = ?, body = ? WHERE id = ?", response.status, body, key);
    return new Response(body, response);
  }
}
