// Three other ways to hand a request's parts to an object than the gateway's one message (the step "parts" of steps.ts), each
// with the floor's insert, call and update behind it.
//
//   rpc      a call of a method, with the head as an object and the body as bytes
//   stream   the body as it comes, unread by the Worker, with the head in a header: then a fingerprint can only be made in
//            the object, and a call that failed cannot be made again
//   whole    the client's request itself, and a new one made of it in the object

import { DurableObject } from "cloudflare:workers";
import { type HeaderPairs, headersOf } from "../../../src/kernel/request/headers.ts";
import { shardOf } from "./shard-of.ts";

interface Env {
  readonly ORIGIN: string;
  readonly WAY: "rpc" | "stream" | "whole";
  readonly KEY_SHARD: DurableObjectNamespace<KeyShard>;
}

interface Head {
  readonly key: string;
  readonly url: string;
  readonly method: string;
  readonly headers: HeaderPairs;
}

interface Answer {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: ArrayBuffer;
}

const HEAD = "x-head";

function headOf(request: Request, origin: string): Head {
  const { pathname, search } = new URL(request.url);
  const { method, headers } = request;
  const key = headers.get("idempotency-key") ?? "";
  return { key, url: origin + pathname + search, method, headers: [...headers] };
}

export default {
  async fetch(request: Request, { KEY_SHARD, ORIGIN, WAY }: Env): Promise<Response> {
    const head = headOf(request, ORIGIN);
    const shard = KEY_SHARD.get(KEY_SHARD.idFromName(String(shardOf(head.key))));
    switch (WAY) {
      case "rpc": {
        const { status, headers, body } = await shard.answer(head, await request.arrayBuffer());
        const pairs = headers.map(([name = "", value = ""]) => [name, value] as const);
        return new Response(body, { status, headers: headersOf(pairs) });
      }
      case "stream":
        return shard.fetch("https://shard/", {
          method: "POST",
          headers: { [HEAD]: JSON.stringify(head) },
          body: request.body,
        });
      case "whole":
        return shard.fetch(request);
    }
  },
};

export class KeyShard extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#sql = state.storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS floor (id TEXT PRIMARY KEY, status INTEGER, body BLOB) WITHOUT ROWID");
  }

  async answer({ key, url, method, headers }: Head, body: ArrayBuffer): Promise<Answer> {
    this.#sql.exec("INSERT INTO floor (id) VALUES (?)", key);
    const response = await fetch(url, { method, headers: headersOf(headers), body });
    const kept = await response.arrayBuffer();
    this.#sql.exec("UPDATE floor SET status = ?, body = ? WHERE id = ?", response.status, kept, key);
    return { status: response.status, headers: [...response.headers], body: kept };
  }

  override async fetch(request: Request): Promise<Response> {
    const text = request.headers.get(HEAD);
    const head: Head = text === null ? headOf(request, this.env.ORIGIN) : JSON.parse(text);
    const { status, headers, body } = await this.answer(head, await request.arrayBuffer());
    return new Response(body, { status, headers: headersOf(headers) });
  }
}
