// `encrypt_responses = true` for bodies of many megabytes: in chunks, in R2, and in both directions. After a crash in the middle no half body is
// replayed, and nothing of it can be read.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { digestOfGenerated, openTransfer, type Received, transfer } from "../../../support/e2e/bytes-client.ts";
import { bucketObjects, removeGateway, startGatewayWithBucket, until } from "../../../support/e2e/scene.ts";
import { freshSecret } from "../../../support/e2e/encrypted-scene.ts";
import { tracesIn } from "../../../support/e2e/traces-in-files.ts";

const BYTES = 20_000_000;
const PIECE = 64 * 1024;

let origin: TestOrigin;
let gateway: Gateway;
beforeAll(async () => {
  origin = await startOrigin();
  const routes = [
    { path: "/bucket", max_response_body: "1MB" },
    { path: "/expiring", max_response_body: "1MB", retention: "4s" },
    { path: "/chunks", max_response_body: "100MB", max_request_body: "100MB" },
    { path: "/crash", max_response_body: "100MB", unknown: "retry" },
  ];
  const settings = { shards: 1, encrypt_responses: true, timeout: "2s", lock: "3s" };
  gateway = await startGatewayWithBucket(origin.url, settings, routes, { ENCRYPTION_SECRET: freshSecret() });
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

function expectWhole(received: Received, seed: string, bytes = BYTES): void {
  expect([received.status, received.complete, received.bytes]).toEqual([201, true, bytes]);
  expect(received.sha256).toBe(digestOfGenerated({ seed, bytes }));
}

describe.each(["/bucket", "/chunks"])("a body of 20 MB (%s)", (path) => {
  it("is replayed byte for byte, also after a crash, with one effect", async () => {
    const key = freshKey();
    await origin.behave({ key }, { status: 201, generated: { seed: key, bytes: BYTES } });
    expectWhole(await transfer(gateway.url, { path, key }), key);
    const replay = await transfer(gateway.url, { path, key });
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    expectWhole(replay, key);
    await gateway.kill9();
    gateway = await gateway.restart();
    expectWhole(await transfer(gateway.url, { path, key }), key);
    expect(await origin.effects(key)).toBe(1);
  });

  it("cannot be read in any file", async () => {
    const key = freshKey();
    const text = `text-${freshKey()} `;
    const body = text.repeat(60_000);
    await origin.behave({ key }, { status: 201, body });
    expect((await transfer(gateway.url, { path, key })).bytes).toBe(body.length);
    expect(tracesIn(gateway.stateDir, [text.trim(), key])).toEqual([]);
    expect((await transfer(gateway.url, { path, key })).bytes).toBe(body.length);
  });
});

it("leaves nothing in the bucket when its record has expired", async () => {
  const key = freshKey();
  const before = (await bucketObjects(gateway)).length;
  await origin.behave({ key }, { status: 201, generated: { seed: key, bytes: BYTES } });
  expectWhole(await transfer(gateway.url, { path: "/expiring", key }), key);
  expect((await bucketObjects(gateway)).length).toBeGreaterThan(before);
  const areErased = async (): Promise<true | null> => ((await bucketObjects(gateway)).length === before ? true : null);
  await until(areErased, "the erasure of the object", 30_000);
});

it("a request of 20 MB reaches the origin whole, and its retry is compared with it", async () => {
  const key = freshKey();
  const upload = { seed: key, bytes: BYTES };
  const behave = { status: 201 };
  const send = (own: Parameters<typeof transfer>[1]["upload"] = upload): Promise<Received> =>
    transfer(gateway.url, { path: "/chunks", key, upload: own, behave });
  expect((await send()).status).toBe(201);
  const [request] = await origin.requests(key);
  expect(request?.body).toMatchObject({ bytes: BYTES, sha256: digestOfGenerated(upload) });
  expect(headerValue(await send(), "idempotent-replayed")).toBe("true");
  expect((await send({ ...upload, lastByteChanged: true })).status).toBe(422);
  expect(await origin.effects(key)).toBe(1);
});

it("half a body is never replayed after a crash; the next attempt's is", async () => {
  const key = freshKey();
  const bytes = 4_000_000;
  const half = { status: 201, chunked: true, holdBody: 30, generated: { seed: "half", bytes } };
  await origin.behave({ key }, { sequence: [half, { status: 201, generated: { seed: key, bytes } }] });
  const client = openTransfer(gateway.url, { path: "/crash", key });
  await client.received(30 * PIECE);
  await gateway.kill9();
  expect((await client.response).complete).toBe(false);
  gateway = await gateway.restart();
  await origin.release(key);
  const next = await until(async () => {
    const answer = await transfer(gateway.url, { path: "/crash", key });
    return answer.text.includes('"in-flight"') ? null : answer;
  }, "the lock ends");
  expectWhole(next, key, bytes);
  expectWhole(await transfer(gateway.url, { path: "/crash", key }), key, bytes);
  expect(await origin.effects(key)).toBe(2);
});
