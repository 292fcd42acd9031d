import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, headerValue } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { digestOfGenerated, openTransfer, type Transfer, transfer } from "../../../support/e2e/bytes-client.ts";
import { bucketObjects, clientOf, removeGateway, startGatewayWithBucket, until } from "../../../support/e2e/scene.ts";

const SIZE = 11_000_000;
const BODY = "0123456789".repeat(SIZE / 10);
const RETENTION = "4s";
const WAIT_MS = 10_000;
const PIECE = 64 * 1024;

let origin: TestOrigin;
let gateway: Gateway;

beforeAll(async () => {
  origin = await startOrigin();
  const settings = { scope: ["none"], shards: 1, max_response_body: "1MB", timeout: "2s", lock: "3s" };
  gateway = await startGatewayWithBucket(origin.url, settings, [
    { path: "/short/*", retention: RETENTION, unknown: "hold" },
    { path: "/attach/*", unknown: "hold", duplicate: "attach", wait: `${WAIT_MS}ms`, lock: "11s" },
    { path: "/*", unknown: "hold" },
  ]);
});

afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

function digest(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

describe("a response above max_response_body, where a bucket is bound", () => {
  it("reaches the first client whole, and is replayed from the bucket with one effect", async () => {
    const message = { path: "/large", key: freshKey(), timeoutMs: 60_000 };
    await origin.behave({ key: message.key }, { status: 201, body: BODY });
    const client = clientOf(gateway.url);
    const first = await client.send(message);
    const again = await client.send(message);
    for (const response of [first, again]) {
      expect([response.status, response.complete, response.body.byteLength]).toEqual([201, true, SIZE]);
      expect(digest(response.body)).toBe(digest(Buffer.from(BODY)));
    }
    expect(headerValue(again, "idempotent-replayed")).toBe("true");
    expect(await origin.effects(message.key)).toBe(1);
  });

  it("leaves nothing in the bucket when its record has expired", async () => {
    const before = (await bucketObjects(gateway)).length;
    const message = { path: "/short/large", key: freshKey(), timeoutMs: 60_000 };
    await origin.behave({ key: message.key }, { status: 201, body: BODY });
    expect((await clientOf(gateway.url).send(message)).complete).toBe(true);
    expect((await bucketObjects(gateway)).length).toBeGreaterThan(before);
    await until(
      async () => ((await bucketObjects(gateway)).length === before ? true : null),
      "the erasure of the object",
      30_000,
    );
  });

  it("is cut for the client when the origin cuts it, and nothing of it is kept", async () => {
    const before = (await bucketObjects(gateway)).length;
    const message = { path: "/short/cut", key: freshKey(), timeoutMs: 60_000 };
    await origin.behave({ key: message.key }, { status: 201, body: BODY, drop: "mid-body" });
    expect((await clientOf(gateway.url).send(message)).complete).toBe(false);
    const retry = await clientOf(gateway.url).send(message);
    expect(retry.body.toString()).toContain("outcome-unknown");
    await until(
      async () => ((await bucketObjects(gateway)).length === before ? true : null),
      "the end of the upload",
      30_000,
    );
  });
});

describe("a duplicate that attaches while the body goes into the bucket", () => {
  const bytes = 4_000_000;

  /** A body that stalls beyond `max_response_body`, and a duplicate that has attached to it. */
  async function standStill(key: string): Promise<{ first: Transfer; duplicate: Transfer }> {
    const held = 40;
    await origin.behave({ key }, { chunked: true, holdBody: held, generated: { seed: key, bytes } });
    const first = openTransfer(gateway.url, { path: "/attach/large", key });
    await first.received(held * PIECE);
    return { first, duplicate: openTransfer(gateway.url, { path: "/attach/large", key }) };
  }

  it("gets 409 after its wait, and the shard serves others meanwhile", async () => {
    const key = freshKey();
    // The first request to the route creates the shard for the later ones.
    await transfer(gateway.url, { path: "/other", key: freshKey() });
    const { first, duplicate } = await standStill(key);
    const begun = performance.now();
    let waits = true;
    void duplicate.response.then(() => (waits = false));
    // A shard that is blocked by the waiting request would answer none of these before the wait is over.
    for (let other = 0; other < 5; other++) {
      const answer = await transfer(gateway.url, { path: "/other", key: freshKey() });
      expect(answer).toMatchObject({ status: 201, complete: true });
    }
    expect(waits).toBe(true);
    const refused = await duplicate.response;
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('"in-flight"');
    expect(performance.now() - begun).toBeGreaterThan(WAIT_MS - 500);
    await origin.release(key);
    const whole = { status: 200, bytes, sha256: digestOfGenerated({ seed: key, bytes }), complete: true };
    expect(await first.response).toMatchObject(whole);
    expect(await origin.effects(key)).toBe(1);
  });

  it("gets the whole answer when it ends within the wait", async () => {
    const key = freshKey();
    const { first, duplicate } = await standStill(key);
    // It waits by now, because a request sent after it has been answered.
    await transfer(gateway.url, { path: "/other", key: freshKey() });
    await origin.release(key);
    const whole = { status: 200, bytes, sha256: digestOfGenerated({ seed: key, bytes }), complete: true };
    expect(await first.response).toMatchObject(whole);
    const attached = await duplicate.response;
    expect(attached).toMatchObject(whole);
    expect(headerValue(attached, "idempotent-replayed")).toBe("true");
    expect(await origin.effects(key)).toBe(1);
  });
});

const AT_ONCE = 20;

it(`keeps ${AT_ONCE} simultaneous bodies apart: each is replayed unchanged`, async () => {
  const bodies = Array.from({ length: AT_ONCE }, (_, index) => ({
    key: freshKey(),
    // Each fifth one has more parts than one.
    generated: { seed: `of ${index}`, bytes: (index % 5 === 0 ? 9_000_001 : 1_100_003) + index },
  }));
  for (const { key, generated } of bodies) await origin.behave({ key }, { chunked: true, generated });
  const readAll = () => Promise.all(bodies.map(({ key }) => transfer(gateway.url, { path: "/large", key })));
  const wholes = bodies.map(({ generated }) => ({
    status: 200,
    bytes: generated.bytes,
    sha256: digestOfGenerated(generated),
    complete: true,
  }));
  expect(await readAll()).toMatchObject(wholes);
  const replays = await readAll();
  expect(replays).toMatchObject(wholes);
  for (const replay of replays) expect(headerValue(replay, "idempotent-replayed")).toBe("true");
  for (const { key } of bodies) expect(await origin.effects(key)).toBe(1);
});
