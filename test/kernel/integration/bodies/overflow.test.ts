// A bucket that fails during an upload costs only the replay: the client gets every byte, the record says that there was an
// answer, and the upload is aborted.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { EncryptionDeriver } from "../../../../src/kernel/encryption/encryption.ts";
import { createApp } from "../../../../src/worker/app.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { encodeMessage, EXCHANGE_CALL } from "../../../../src/kernel/request/message.ts";
import { KeyShard } from "../../../../src/worker/key-shard.ts";
import { heldBytes } from "../../../../src/kernel/body/read-memory.ts";
import { PART_BYTES } from "../../../../src/kernel/overflow/remote-bodies.ts";
import { originTarget } from "../../../../src/kernel/object/origin-call.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { type Failure, FailingBucket } from "../../../support/integration/failing-bucket.ts";
import { noIdentities } from "../../../support/integration/no-identities.ts";

/** Two parts and a half, as the gateway cuts them. */
const BODY = new Uint8Array(20 << 20).map((_byte, index) => (index * 31 + (index >> 10)) % 251);

interface Bench {
  readonly bucket: FailingBucket;
  /** One request, always the same one. */
  readonly send: () => Promise<Response>;
  readonly originCalls: () => number;
  readonly count: (query: string) => number;
}

/** A whole gateway around a fresh object, with a bucket that fails and an origin whose answer outgrows the ledger. */
async function withBucket(
  failure: Failure,
  run: (bench: Bench) => Promise<void>,
  body: () => BodyInit = () => BODY,
): Promise<void> {
  const bucket = new FailingBucket(failure);
  let originCalls = 0;
  const origin = {
    fetch: () => {
      originCalls += 1;
      return Promise.resolve(new Response(body(), { status: 201 }));
    },
  };
  const bindings = {
    ...env,
    BODIES: bucket,
    API: origin,
    IDEMPOTENCY: { origin: { binding: "API" }, scope: ["none"], max_response_body: "1MiB", idle_timeout: "2s" },
    ROUTES: [{ path: "/*", unknown: "hold" }],
  };
  const read = readConfig(bindings);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { config } = read;
  await runInDurableObject<KeyShard, void>(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (instance, state) => {
    const shard = new KeyShard(state, bindings);
    // The platform delivers the alarm to the current instance.
    vi.spyOn(instance, "alarm").mockImplementation(() => shard.alarm());
    const handle = createApp(config, {
      callShard: (_route, exchange) =>
        shard.fetch(new Request(EXCHANGE_CALL.url, { method: "POST", body: encodeMessage(exchange) })),
      reporter: new ExchangeReporter("worker", new TrafficCounters()),
      proveCaller: noIdentities,
      target: (to) => originTarget(to, bindings, {}),
      encryptions: new EncryptionDeriver([]),
    });
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    await run({
      bucket,
      send: async () => handle(new Request("https://gateway.example/", { method: "POST", headers, body: "{}" })),
      originCalls: () => originCalls,
      count: (query) => state.storage.sql.exec<{ n: number }>(query).one().n,
    });
  });
}

describe("a bucket that fails", () => {
  it.each<{ failure: Failure; begun: number; parts: number }>([
    { failure: "begin", begun: 0, parts: 0 },
    { failure: "first part", begun: 1, parts: 1 },
    { failure: "second part", begun: 1, parts: 2 },
    { failure: "complete", begun: 1, parts: 3 },
  ])("at its $failure leaves the transfer whole and the record without a body", async ({ failure, begun, parts }) => {
    const logged = vi.spyOn(console, "error").mockReturnValue();
    await withBucket(failure, async ({ bucket, send, originCalls, count }) => {
      const first = await send();
      expect(first.status).toBe(201);
      const bytes = new Uint8Array(await first.arrayBuffer());
      expect(bytes.byteLength).toBe(BODY.byteLength);
      expect(bytes.every((byte, index) => byte === BODY[index])).toBe(true);
      expect({ begun: bucket.begun.length, parts: bucket.parts }).toEqual({ begun, parts });

      const again = await send();
      expect(await again.json()).toMatchObject({ status: 409, code: "response-not-kept", originalStatus: 201 });
      expect(originCalls()).toBe(1);
      expect(count("SELECT count(*) AS n FROM records WHERE state = 'completed' AND kept = 0")).toBe(1);

      // The upload is aborted, and nothing of the body is left.
      const left = (): number =>
        count(
          "SELECT (SELECT count(*) FROM remote) + (SELECT count(*) FROM chunks) + (SELECT count(*) FROM discarded) AS n",
        );
      await vi.waitUntil(() => left() === 0, { timeout: 10_000 });
      expect(bucket.aborted).toEqual(bucket.begun);
      expect(bucket.completed).toEqual([]);
      expect(logged).toHaveBeenCalled();
    });
    logged.mockRestore();
  });

  it("keeps the body if it does not fail", async () => {
    await withBucket(null, async ({ bucket, send, originCalls, count }) => {
      expect((await (await send()).arrayBuffer()).byteLength).toBe(BODY.byteLength);
      expect({ completed: bucket.completed.length, aborted: bucket.aborted }).toEqual({ completed: 1, aborted: [] });
      expect(count("SELECT count(*) AS n FROM records WHERE kept = 1")).toBe(1);
      expect(originCalls()).toBe(1);
    });
  });

  it("keeps a body that ends exactly with a part, in whole parts", async () => {
    const parts = BODY.subarray(0, 2 * PART_BYTES);
    const sent = Promise.withResolvers<void>();
    const body = (): ReadableStream<Uint8Array> => {
      const { readable, writable } = new IdentityTransformStream();
      const writer = writable.getWriter();
      void writer.write(parts);
      void sent.promise.then(() => writer.close());
      return readable;
    };
    const run = async ({ bucket, send, count }: Bench): Promise<void> => {
      const first = (await send()).arrayBuffer();
      await vi.waitUntil(() => bucket.taken === 2, { timeout: 10_000 });
      sent.resolve();
      expect((await first).byteLength).toBe(parts.byteLength);
      await vi.waitUntil(() => bucket.completed.length === 1, { timeout: 10_000 });
      expect(bucket.parts).toBe(2);
      expect(count("SELECT count(*) AS n FROM records WHERE kept = 1")).toBe(1);
    };
    await withBucket(null, run, body);
  });

  it("that hangs is given up, and holds no memory", async () => {
    const before = heldBytes();
    await withBucket("hangs", async ({ bucket, send, count }) => {
      expect((await (await send()).arrayBuffer()).byteLength).toBe(BODY.byteLength);
      await vi.waitUntil(() => count("SELECT count(*) AS n FROM records WHERE kept = 0") === 1, { timeout: 10_000 });
      expect(bucket.parts).toBe(1);
      await vi.waitUntil(() => heldBytes() === before, { timeout: 10_000 });
    });
  });
});
