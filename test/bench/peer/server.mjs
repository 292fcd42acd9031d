// A user's other choice: a Fastify in front of the same origin, with node-idempotency on Redis or, without a port for it,
// bare. Its Fastify plugin needs Fastify 4; this calls the same core at the same two points, before the handler and before
// the answer is sent. `node server.mjs PORT ORIGIN [REDIS_PORT]`

import { Idempotency } from "@node-idempotency/core";
import { RedisStorageAdapter } from "@node-idempotency/storage-adapter-redis";
import Fastify from "fastify";
import { Pool } from "undici";

const [port, origin, redisPort] = process.argv.slice(2);
const pool = new Pool(origin, { connections: 64 });
const server = Fastify();

/** What the library wants to know of a request. */
const partsOf = ({ headers, body, url, method }) => ({ headers, body, path: url, method });

if (redisPort) {
  const storage = new RedisStorageAdapter({ url: `redis://127.0.0.1:${redisPort}` });
  await storage.connect();
  const idempotency = new Idempotency(storage, { enforceIdempotency: false });
  server.addHook("preHandler", async (request, reply) => {
    const known = await idempotency.onRequest(partsOf(request));
    if (known === undefined) return undefined;
    request.isReplay = true;
    reply.code(known.additional.statusCode).headers(known.additional.headers);
    return reply.header("idempotent-replayed", "true").send(known.body);
  });
  server.addHook("onSend", async (request, reply, payload) => {
    if (request.isReplay === true) return;
    const additional = { statusCode: reply.statusCode, headers: reply.getHeaders() };
    await idempotency.onResponse(partsOf(request), { additional, body: payload });
  });
}

server.get("/ready", () => "ready");
server.post("/*", async ({ url, body, headers }, reply) => {
  const answer = await pool.request({
    path: url,
    method: "POST",
    headers: { "content-type": headers["content-type"], authorization: headers.authorization },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  const { "content-length": _, ...kept } = answer.headers;
  return reply.code(answer.statusCode).headers(kept).send(text);
});

await server.listen({ port: Number(port), host: "127.0.0.1" });
