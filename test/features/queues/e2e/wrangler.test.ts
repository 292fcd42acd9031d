// The real local queue of `wrangler dev`, whose messages reach the origin through the gateway once, and `onceway try --queue` with its operation of
// the operator API. Effects are counted at the origin. This queue keeps nothing when it dies: that is for crash.test.ts.

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandOutcome } from "../../../support/command-line.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { type Gateway, makeStateDir, startWranglerDev } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { violationOf } from "../../../support/e2e/openapi.ts";

const ADMIN_TOKEN = randomBytes(24).toString("hex");
const READ_TOKEN = randomBytes(24).toString("hex");

const QUEUES = `
[[queues.consumers]]
queue = "orders"
max_batch_timeout = 0
max_retries = 100
[[queues.producers]]
queue = "orders-dead"
binding = "ORDERS_DEAD"
[[queues.producers]]
queue = "orders"
binding = "ORDERS"
[[queues.consumers]]
queue = "orders-dead"
max_batch_timeout = 0
`;

let origin: TestOrigin;
let gateway: Gateway;
beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startWranglerDev({
    stateDir: await makeStateDir(),
    main: fileURLToPath(new URL("../../../support/producer.js", import.meta.url)),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 4 },
      ROUTES: [],
      QUEUES: [
        {
          queue: "orders",
          to: "/orders",
          key: ["json:/id"],
          dead_letter: { binding: "ORDERS_DEAD" },
          headers: { authorization: "secret:ORDERS_AUTH" },
          log: "all",
        },
      ],
    },
    bindings: { ADMIN_TOKEN, READ_TOKEN, ORDERS_AUTH: "Bearer of-the-queue" },
    extraToml: QUEUES,
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  await rm(gateway.stateDir, { recursive: true, force: true });
});

describe("a message of the queue", () => {
  const send = async (id: string): Promise<void> => {
    const { status } = await fetch(`${gateway.url}/send`, { method: "POST", body: JSON.stringify({ id, amount: 5 }) });
    expect(status).toBe(200);
  };

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
    const letters = async () => v.parse(v.array(v.string()), await (await fetch(`${gateway.url}/letters`)).json());
    const letterOf = async () => (await letters()).find((text) => text.includes('"rejected","amount"'));
    await expect.poll(letterOf).toBeDefined();
    expect(JSON.parse((await letterOf()) ?? "")).toMatchObject({
      specversion: "1.0",
      type: "dev.onceway.message.dead",
      data: { reason: "rejected", status: 422, queue: "orders", body: { id: "rejected", amount: 5 } },
    });
    expect(await origin.requests("rejected")).toHaveLength(1);
  });
});

function tryQueue(queue: string, ...args: readonly string[]): Promise<CommandOutcome> {
  const command = ["try", "--queue", queue, ...args];
  return callOnceway(command, { ONCEWAY_URL: gateway.url, ONCEWAY_TOKEN: ADMIN_TOKEN });
}

interface Asked {
  readonly status: number;
  readonly json: Record<string, unknown>;
}

async function ask(body: unknown, token = ADMIN_TOKEN): Promise<Asked> {
  const path = "/queues/try";
  const response = await fetch(`${gateway.url}/_onceway${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  const json = v.parse(v.record(v.string(), v.unknown()), await response.json());
  expect(violationOf("POST", path, { status, headers, json })).toBeNull();
  return { status, json };
}

describe("onceway try --queue", () => {
  it("delivers a message twice and reports one effect", async () => {
    const id = freshKey();
    const { code, stdout, stderr } = await tryQueue("orders", "--data", JSON.stringify({ id, amount: 5 }), "--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/first delivery +ack +first 201/);
    expect(stdout).toMatch(/second delivery +ack +replayed 201/);
    expect(stdout).toContain("attempts at the origin: 1\n");
    expect(stdout).toContain("✓ The second delivery was settled by the record of the first");
    expect(await origin.effects(id)).toBe(1);
  });

  it("sends nothing without --yes, without --data, or with what a message does not have", async () => {
    const id = freshKey();
    const data = ["--data", JSON.stringify({ id })];
    expect((await tryQueue("orders", ...data)).stderr).toContain("Nothing was sent: add --yes");
    expect((await tryQueue("orders", "--yes")).stderr).toContain("Missing --data");
    expect((await tryQueue("orders", ...data, "--yes", "--key", id)).stderr).toContain("cannot be used with");
    const named = await tryQueue("orders", ...data, "--yes", "https://api.example.com");
    expect(named.stderr).toContain("write --url https://api.example.com");
    expect([named.code, await origin.effects(id)]).toEqual([2, 0]);
  });

  it("says which queues there are, and that a message has no key", async () => {
    const unknown = await tryQueue("order", "--data", "{}", "--yes");
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      'operator-request-invalid: QUEUES has no queue "order", only orders. Nothing was changed.\n',
    ]);
    const keyless = await tryQueue("orders", "--data", '{"amount":1}', "--yes");
    expect([keyless.code, keyless.stderr]).toEqual([1, expect.stringContaining("The message has no key")]);
  });
});

describe("the operation", () => {
  it("is for administrators only", async () => {
    const id = freshKey();
    expect(await ask({ queue: "orders", body: { id } }, READ_TOKEN)).toMatchObject({ status: 403 });
    expect(await origin.effects(id)).toBe(0);
  });

  it.each([
    [{ queue: "orders" }],
    [{ queue: "orders", body: 1, bodyBase64: "AA==" }],
    [{ queue: "orders", bodyBase64: "!" }],
    [{ queue: "orders", body: { id: 1 }, key: "x" }],
    [{ body: 1 }],
    [null],
  ])("refuses %j", async (request) => {
    expect(await ask(request)).toMatchObject({ status: 400 });
  });

  it("says what became of a message that the origin rejects, and its dead letter is real", async () => {
    const id = freshKey();
    await origin.behave({ key: id }, { status: 422 });
    const { status, json } = await ask({ queue: "orders", body: { id } });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      queue: "orders",
      attempts: 1,
      deliveries: [
        { decision: "dead", reason: "rejected", answer: "first", status: 422, afterMs: null },
        { decision: "dead", reason: "rejected", answer: "replayed", status: 422, afterMs: null },
      ],
      record: { key: id, route: "queue:orders", state: "completed" },
    });
    await expect.poll(async () => (await fetch(`${gateway.url}/letters`)).text()).toContain(String(json["messageId"]));
  });
});
