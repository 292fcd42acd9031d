// @node-idempotency/core with Redis, called as its NestJS plugin calls it: the same statuses, Retry-After and mark of a replay, and
// errors are stored as answers are. In addition all headers are stored, and bodies as base64, so that binary ones survive.

import { Idempotency, IdempotencyError, IdempotencyErrorCodes as codes } from "@node-idempotency/core";
import { RedisStorageAdapter } from "@node-idempotency/storage-adapter-redis";
import { forward, json, redisUrl, retentionSeconds, serve } from "./forward.mjs";

const storage = new RedisStorageAdapter({ url: redisUrl });
await storage.connect();
const cacheTTLMS = Number(retentionSeconds) * 1000;
const idempotency = new Idempotency(storage, { cacheTTLMS, enforceIdempotency: true });

const STATUSES = {
  [codes.IDEMPOTENCY_KEY_LEN_EXEEDED]: 400,
  [codes.IDEMPOTENCY_KEY_MISSING]: 400,
  [codes.IDEMPOTENCY_FINGERPRINT_MISSMATCH]: 422,
  [codes.REQUEST_IN_PROGRESS]: 409,
};

serve(async (request) => {
  const { method, url, headers, body } = request;
  const parts = { method, path: url, headers, body: { bytes: body.toString("base64") } };
  try {
    const known = await idempotency.onRequest(parts);
    if (known !== undefined) {
      const { status, headers: kept } = known.additional;
      return { status, headers: { ...kept, "idempotent-replayed": "true" }, body: Buffer.from(known.body, "base64") };
    }
  } catch (error) {
    if (!(error instanceof IdempotencyError)) throw error;
    const later = error.code === codes.REQUEST_IN_PROGRESS ? { "retry-after": "1" } : {};
    return json(STATUSES[error.code], { message: error.message }, later);
  }
  const answer = await forward(request).catch((error) => json(502, { message: String(error) }));
  const additional = { status: answer.status, headers: answer.headers };
  await idempotency.onResponse(parts, { additional, body: answer.body.toString("base64") });
  return answer;
});
