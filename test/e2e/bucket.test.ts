import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWranglerDev } from "../support/gateway.ts";
import { freshKey, headerValue } from "../support/http.ts";
import { startOrigin, type TestOrigin } from "../support/origin.ts";
import { clientOf, until } from "./support/scene.ts";

const SIZE = 11_000_000;
const BODY = "0123456789".repeat(SIZE / 10);
const RETENTION = "4s";

let origin: TestOrigin;
let gateway: Gateway;

beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startWranglerDev({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: {
        origin: origin.url,
        scope: ["none"],
        shards: 1,
        max_response_body: "1MB",
        timeout: "1s",
        lock: "2s",
      },
      ROUTES: [
        { path: "/short/*", retention: RETENTION, unknown: "hold" },
        { path: "/*", unknown: "hold" },
      ],
    },
    extraToml: '[[r2_buckets]]\nbinding = "BODIES"\nbucket_name = "bodies"',
  });
});

afterAll(async () => {
  await gateway.stop();
  await rm(gateway.stateDir, { recursive: true, force: true });
  await origin.close();
});

function digest(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

/** The files of all objects in the local bucket. */
async function objects(): Promise<readonly string[]> {
  const folder = join(gateway.stateDir, "v3", "r2", "bodies", "blobs");
  return existsSync(folder) ? readdir(folder) : [];
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
    const before = (await objects()).length;
    const message = { path: "/short/large", key: freshKey(), timeoutMs: 60_000 };
    await origin.behave({ key: message.key }, { status: 201, body: BODY });
    expect((await clientOf(gateway.url).send(message)).complete).toBe(true);
    expect((await objects()).length).toBeGreaterThan(before);
    await until(async () => ((await objects()).length === before ? true : null), "the erasure of the object", 30_000);
  });

  it("is cut for the client when the origin cuts it, and nothing of it stays", async () => {
    const before = (await objects()).length;
    const message = { path: "/short/cut", key: freshKey(), timeoutMs: 60_000 };
    await origin.behave({ key: message.key }, { status: 201, body: BODY, drop: "mid-body" });
    expect((await clientOf(gateway.url).send(message)).complete).toBe(false);
    const retry = await clientOf(gateway.url).send(message);
    expect(retry.body.toString()).toContain("outcome-unknown");
    await until(async () => ((await objects()).length === before ? true : null), "the end of the upload", 30_000);
  });
});
