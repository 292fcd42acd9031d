// express-idempotency with its Redis adapter in an Express application, as its README says: the handler asks for a hit, and reports
// errors. Text is sent as text, because the middleware stores what `send` was given.

import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import adapterPackage from "express-idempotency-redis-adapter";
import { forward, port, redisUrl, retentionSeconds } from "./forward.mjs";

const RedisAdapter = adapterPackage.default;
const dataAdapter = new RedisAdapter({ connectionConfig: { url: redisUrl }, ttl: Number(retentionSeconds) });
await dataAdapter.connect();

const app = express();
app.get(/.*/, (_request, response) => response.status(404).end());
const verify = (request, _response, bytes) => {
  request.bytes = bytes;
};
app.use(express.json({ verify }), express.raw({ type: "application/octet-stream", verify }));
app.use(idempotency({ dataAdapter }));
app.use((request, response) => void answer(request, response));
app.listen(Number(port), "127.0.0.1");

async function answer(request, response) {
  const service = getSharedIdempotencyService();
  if (service.isHit(request) === true) return;
  const { method, originalUrl: url, headers, bytes: body } = request;
  try {
    const given = await forward({ method, url, headers, body });
    for (const [name, value] of Object.entries(given.headers)) response.setHeader(name, value);
    const isText = /json|text/.test(given.headers["content-type"] ?? "") && !("content-encoding" in given.headers);
    response.status(given.status).send(isText ? given.body.toString() : given.body);
  } catch (error) {
    await service.reportError(request);
    response.status(502).json({ message: String(error) });
  }
}
