// Powertools for AWS Lambda (TypeScript) with its cache layer on Redis: a handler as behind API Gateway (payload format 2.0). The
// record is named by key and caller; path and body are validated. Its errors become the statuses of the draft: it leaves that to its
// users.

import {
  IdempotencyAlreadyInProgressError,
  IdempotencyConfig,
  IdempotencyValidationError,
  makeIdempotent,
} from "@aws-lambda-powertools/idempotency";
import { CachePersistenceLayer } from "@aws-lambda-powertools/idempotency/cache";
import { createClient } from "@redis/client";
import { forward, json, lockSeconds, redisUrl, retentionSeconds, serve } from "./forward.mjs";

/**
 * In version 2.35.0 the cache layer forgets the hash of the payload when the result comes, so that with validation each retry is refused.
 * Its DynamoDB layer keeps it. Kept here too, so that the rest can be compared.
 */
class KeepingLayer extends CachePersistenceLayer {
  async _updateRecord({ idempotencyKey, expiryTimestamp, responseData, payloadHash }) {
    const item = { status: "COMPLETED", expiration: expiryTimestamp, data: responseData, validation: payloadHash };
    await client.set(idempotencyKey, JSON.stringify(item), { EX: expiryTimestamp - Math.floor(Date.now() / 1000) });
  }
}

const client = await createClient({ url: redisUrl }).connect();
const config = new IdempotencyConfig({
  eventKeyJmesPath: '[headers."idempotency-key", headers.authorization]',
  payloadValidationJmesPath: "[rawPath, rawQueryString, method, body]",
  expiresAfterSeconds: Number(retentionSeconds),
});

const handler = makeIdempotent(
  async ({ method, rawPath, rawQueryString, headers, body }) => {
    const url = rawQueryString === "" ? rawPath : `${rawPath}?${rawQueryString}`;
    const answer = await forward({ method, url, headers, body: Buffer.from(body, "base64") });
    return {
      statusCode: answer.status,
      headers: answer.headers,
      body: answer.body.toString("base64"),
      isBase64Encoded: true,
    };
  },
  { persistenceStore: new KeepingLayer({ client }), config },
);

function contextOf() {
  const endsAt = Date.now() + Number(lockSeconds) * 1000;
  return {
    functionName: "conformance",
    functionVersion: "1",
    invokedFunctionArn: "arn:aws:lambda:eu-west-1:0:function:conformance",
    memoryLimitInMB: "128",
    awsRequestId: "0",
    logGroupName: "",
    logStreamName: "",
    getRemainingTimeInMillis: () => Math.max(0, endsAt - Date.now()),
  };
}

serve(async ({ method, url, headers, body }) => {
  const [rawPath, rawQueryString = ""] = url.split("?");
  const event = {
    version: "2.0",
    method,
    rawPath,
    rawQueryString,
    headers,
    body: body.toString("base64"),
    isBase64Encoded: true,
  };
  try {
    const { statusCode, headers: own, body: text } = await handler(event, contextOf());
    return { status: statusCode, headers: own, body: Buffer.from(text, "base64") };
  } catch (error) {
    if (error instanceof IdempotencyAlreadyInProgressError) return json(409, { message: error.message });
    if (error instanceof IdempotencyValidationError) return json(422, { message: error.message });
    return json(502, { message: String(error) });
  }
});
