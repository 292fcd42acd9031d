// The real local queue of `wrangler dev`: a producer's message reaches the origin through the gateway once, and a rejected one becomes
// a dead letter in its queue. This queue keeps nothing when it dies: that is for crash.test.ts.

import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as v from "valibot";
import { type Gateway, makeStateDir, startWranglerDev } from "../../../support/gateway.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";

const QUEUES = `
[[queues.consumers]]
queue = "orders"
max_batch_timeout = 0
max_retries = 100
[[queues.consumers]]
queue = "orders-dead"
max_batch_timeout = 0
[[queues.producers]]
queue = "orders"
binding = "ORDERS"
[[queues.producers]]
queue = "orders-dead"
binding = "ORDERS_DEAD"
`;

let origin: TestOrigin;
let gateway: Gateway;
beforeAll(async () => {
  origin = await startOrigin();
  const orders = { queue: "orders", to: "/orders", key: ["json:/id"], dead_letter: { binding: "ORDERS_DEAD" } };
  gateway = await startWranglerDev({
    stateDir: await makeStateDir(),
    main: fileURLToPath(new URL("../../../support/producer.js", import.meta.url)),
    vars: {
      IDEMPOTENCY: { origin: origin.url },
      ROUTES: [],
      QUEUES: [{ ...orders, headers: { authorization: "secret:ORDERS_AUTH" } }],
    },
    bindings: { ORDERS_AUTH: "Bearer of-the-queue" },
    extraToml: QUEUES,
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  await rm(gateway.stateDir, { recursive: true, force: true });
});

async function send(id: string): Promise<void> {
  const { status } = await fetch(`${gateway.url}/send`, { method: "POST", body: JSON.stringify({ id, amount: 5 }) });
  expect(status).toBe(200);
}

it("reaches the origin once, also if its producer sends it twice, with the queue's headers", async () => {
  await send("twice");
  await origin.arrived("twice", 1, 30_000);
  await send("twice");
  await send("after");
  await origin.arrived("after", 1, 30_000);
  expect(await origin.effects("twice")).toBe(1);
  const [request] = await origin.requests("twice");
  const headers = Object.fromEntries((request?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]));
  expect(headers).toMatchObject({
    authorization: "Bearer of-the-queue",
    "content-type": "application/json",
    "idempotency-attempt": "1",
    "onceway-queue": "orders",
    "onceway-delivery": "1",
  });
  expect(Buffer.from(request?.body?.base64 ?? "", "base64").toString()).toBe('{"id":"twice","amount":5}');
});

it("becomes a dead letter with its reason if the origin rejects it", async () => {
  await origin.behave({ key: "rejected" }, { status: 422, effect: false });
  await send("rejected");
  let letters: unknown = [];
  do {
    await pause(100);
    const texts = await fetch(`${gateway.url}/letters`).then((response) => response.json());
    letters = v.parse(
      v.array(
        v.pipe(
          v.string(),
          v.transform((text): unknown => JSON.parse(text)),
        ),
      ),
      texts,
    );
  } while (JSON.stringify(letters) === "[]");
  expect(letters).toMatchObject([
    {
      specversion: "1.0",
      type: "dev.onceway.message.dead",
      data: { reason: "rejected", status: 422, queue: "orders", body: { id: "rejected", amount: 5 } },
    },
  ]);
  expect(await origin.requests("rejected")).toHaveLength(1);
});
