// Does one thing with the runtime, again and again: the name is the path, how often is the query. What the gateway's budget counts
// (budget-counts.ts) is among these.

import { DurableObject } from "cloudflare:workers";
import { IDENTITY_CALLS } from "./identities.ts";
import { KEY_CALLS } from "./keys.ts";

interface Env {
  readonly KEY_SHARD: DurableObjectNamespace<KeyShard>;
}

/** Headers like those of an answer, with what the gateway adds. */
const PAIRS: readonly (readonly [string, string])[] = [
  ["cache-control", "no-store"],
  ["content-type", "application/json"],
  ["request-id", "req_7d1f"],
  ["Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
  ["Idempotency-Expires", "Sun, 22 Nov 2026 12:40:00 GMT"],
  ["Idempotent-Replayed", "true"],
];
const BYTES = new TextEncoder().encode('{"id":"pay_3f9a1c","amount":4200,"currency":"eur","status":"succeeded"}');
const MESSAGE = new Uint8Array(1300).fill(32);

function headers(): Headers {
  const made = new Headers();
  for (const [name, value] of PAIRS) made.append(name, value);
  return made;
}

function stream(): ReadableStream<Uint8Array> {
  const { body } = new Response(BYTES);
  if (body === null) throw new TypeError("a response without a body");
  return body;
}

const CALLS: Readonly<Record<string, (request: Request, env: Env) => unknown>> = {
  "headers-6": headers,
  response: () => new Response(BYTES, { status: 201, encodeBody: "manual" }),
  "response-headers-6": () => new Response(BYTES, { status: 201, headers: headers(), encodeBody: "manual" }),
  "header-get": (request) => request.headers.get("authorization"),
  "header-iteration": (request) => [...request.headers],
  "abort-signal": () => new AbortController().signal,
  url: () => URL.parse("http://api.example.com/v1/payments?x=1"),
  timer: () => clearTimeout(setTimeout(() => undefined, 1000)),
  "performance-now": () => performance.now(),
  "random-uuid": () => crypto.randomUUID(),
  digest: () => crypto.subtle.digest("SHA-256", BYTES),
  "body-whole": () => new Response(BYTES).arrayBuffer(),
  "body-reader": () => stream().getReader().read(),
  "body-own-buffer": () => stream().getReader({ mode: "byob" }).read(new Uint8Array(BYTES.byteLength)),
  "object-call": async (_request, { KEY_SHARD }) =>
    (await KEY_SHARD.get(KEY_SHARD.idFromName("one")).fetch("https://one/")).arrayBuffer(),
  "object-call-body": async (_request, { KEY_SHARD }) => {
    const call = { method: "POST", body: MESSAGE };
    return (await KEY_SHARD.get(KEY_SHARD.idFromName("one")).fetch("https://one/", call)).arrayBuffer();
  },
  ...IDENTITY_CALLS,
  ...KEY_CALLS,
};

/** Answers with the names. */
const NAMES_PATH = "/names";

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === NAMES_PATH) return Response.json(Object.keys(CALLS));
    const call = CALLS[pathname.slice(1)];
    if (call === undefined) return new Response(null, { status: 404 });
    for (let left = Number(searchParams.get("times")); left > 0; left -= 1) {
      const made = call(request, env);
      if (made instanceof Promise) await made;
    }
    return new Response(null, { status: 204 });
  },
};

export class KeyShard extends DurableObject<Env> {
  override async fetch(request: Request): Promise<Response> {
    if (request.method === "POST") await request.arrayBuffer();
    return new Response(BYTES, { status: 201, headers: headers() });
  }
}
