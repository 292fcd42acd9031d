// The dead letters of parked messages, in a real shard.

import { env, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { OutboxRows } from "../../../../src/features/outbox/object/rows.ts";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { encodeMessage, type ExchangeHead, EXCHANGE_CALL } from "../../../../src/kernel/request/message.ts";
import { CHANGE_CALL } from "../../../../src/kernel/object/operator-calls.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { again, headOf, ShardBench, UNKNOWN_RETENTION_MS } from "../../../support/integration/shard-bench.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import { eventually } from "../../../support/eventually.ts";

standStill(["error", "warn"]);
afterEach(() => void vi.restoreAllMocks());

const SCHEDULE = {
  attempts: 2,
  firstPauseMs: durationMs(1000),
  longestPauseMs: durationMs(2000),
  giveUpAfterMs: durationMs(600_000),
};
const DESTINATION = "dead-letters:ORDERS_DEAD";

function messageHead(policy: Partial<ExchangeHead["rules"]["policy"]> = {}): ExchangeHead {
  const head = headOf({}, "hold");
  const deadLetters = { queue: "orders", binding: "ORDERS_DEAD", done: ["2xx"] } as const;
  const message = { messageId: crypto.randomUUID(), deliveries: 3, firstSentAt: epochMs(0), bodyKind: "json" } as const;
  const rules = { ...head.rules, deadLetters, policy: { ...head.rules.policy, schedule: SCHEDULE, ...policy } };
  return { ...head, park: true, message, rules };
}

async function deliver(bench: ShardBench, head: ExchangeHead, body: string): Promise<string | null> {
  const message = encodeMessage({ head, body: new TextEncoder().encode(body) });
  const response = await bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: message });
  await response.arrayBuffer();
  return response.headers.get("Idempotency-Status");
}

/** A message whose outcome is unknown, with its record. */
async function parkedMessage(head = messageHead(), body = '{"n":1}'): Promise<[ShardBench, ExchangeHead]> {
  const bench = new ShardBench();
  bench.origin = () => new Response("?", { status: 504 });
  await deliver(bench, head, body);
  expect(await deliver(bench, again(head), body)).toBe("parked");
  return [bench, head];
}

async function change(bench: ShardBench, head: ExchangeHead, event: object): Promise<void> {
  const { id } = head.record;
  const changed = { id, event: { by: "admin", reason: "", ...event }, headers: [] };
  await bench.stub.fetch(CHANGE_CALL.url, {
    method: "POST",
    body: encodeMessage({ head: changed, body: new Uint8Array() }),
  });
}

/** The letters that wait for their queue, which does not exist here. */
function letters(bench: ShardBench): Promise<readonly unknown[]> {
  return bench.within(({ tables }) => {
    const { events } = new OutboxStore(tables);
    if (!events.exists) return [];
    const all = { events: 10, bytes: 1e7 };
    return events
      .lanes(DESTINATION)
      .flatMap(({ lane }) => events.due(DESTINATION, lane, epochMs(Number.MAX_SAFE_INTEGER), all))
      .map(({ event }): unknown => JSON.parse(event));
  });
}

function keysOfLetters(bench: ShardBench): Promise<readonly string[]> {
  return runInDurableObject(bench.stub, (_object, { storage: { sql } }) =>
    sql
      .exec<{ key: string }>("SELECT key FROM outbox WHERE destination = ?", DESTINATION)
      .toArray()
      .map(({ key }) => key),
  );
}

const UNKNOWN = { type: "dev.onceway.message.dead", data: { reason: "outcome-unknown", status: null } };

function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

it.each([
  ["in the record's row", 1],
  ["in chunks", "x".repeat(60_000)],
])("goes out when its record expires, with the message (%s)", async (_, n) => {
  const [bench, head] = await parkedMessage(messageHead(), JSON.stringify({ n }));
  await bench.evict();
  pass(2 * UNKNOWN_RETENTION_MS);
  expect(await letters(bench)).toEqual([]);
  await bench.deliverAlarm();
  const id = `orders/${head.message?.messageId}`;
  const data = { deliveries: 3, firstSentAt: "1970-01-01T00:00:00.000Z", recordId: head.record.id, body: { n } };
  expect(await letters(bench)).toMatchObject([{ ...UNKNOWN, id, data: { ...UNKNOWN.data, ...data } }]);
  // Whoever erases the caller's data finds it by its key.
  expect(await keysOfLetters(bench)).toEqual([head.record.key]);
  expect(await bench.stored(head.record.id)).toBeNull();
  await bench.deliverAlarm();
  expect(await letters(bench)).toHaveLength(1);
  // Operators are told of it too.
  const alerts = await bench.within((_ledger, { storage }) =>
    storage.sql.exec("SELECT count(*) AS n FROM outbox WHERE event LIKE '%alert.dead-letter%'").one(),
  );
  expect(alerts).toEqual({ n: 1 });
});

it("goes out when another message replaces the expired record, before the alarm", async () => {
  const [bench, head] = await parkedMessage();
  pass(2 * UNKNOWN_RETENTION_MS);
  bench.origin = () => new Response("done");
  expect(await deliver(bench, again(head), '{"n":1}')).toBe("first");
  expect(await letters(bench)).toMatchObject([UNKNOWN]);
  await bench.deliverAlarm();
  expect(await letters(bench)).toHaveLength(1);
});

it("goes out when an operator comes too late to forget its record", async () => {
  const [bench, head] = await parkedMessage();
  pass(2 * UNKNOWN_RETENTION_MS);
  await change(bench, head, { type: "forget" });
  expect(await bench.stored(head.record.id)).toBeNull();
  expect(await letters(bench)).toMatchObject([UNKNOWN]);
});

it("goes out once where the key is remembered for longer", async () => {
  const rememberMs = durationMs(10 * UNKNOWN_RETENTION_MS);
  const [bench, head] = await parkedMessage(messageHead({ rememberMs }));
  pass(2 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  expect(await letters(bench)).toMatchObject([{ data: { reason: "outcome-unknown", body: { n: 1 } } }]);
  expect(await bench.stored(head.record.id)).toMatchObject({ state: "remembered" });
  pass(20 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  expect(await letters(bench)).toHaveLength(1);
});

it("has a body that was stored in chunks, and none that is too large for a letter", async () => {
  for (const [size, hasBody] of [
    [50_000, true],
    [127_000, false],
  ] as const) {
    const body = JSON.stringify("x".repeat(size));
    const [bench] = await parkedMessage(messageHead(), body);
    pass(2 * UNKNOWN_RETENTION_MS);
    await bench.deliverAlarm();
    const [letter] = await letters(bench);
    expect(letter).toMatchObject(UNKNOWN);
    expect(JSON.stringify(letter).includes("xxx")).toBe(hasBody);
    expect(await bench.within(({ bodies }) => bodies.eraseAt())).not.toBeNull();
  }
});

it("goes out in slices, so that no turn has to hold many large ones", async () => {
  const bench = new ShardBench();
  bench.origin = () => new Response("?", { status: 504 });
  const body = JSON.stringify("x".repeat(100_000));
  const messages = 40;
  for (let at = 0; at < messages; at += 1) {
    const head = messageHead();
    await deliver(bench, head, body);
    expect(await deliver(bench, again(head), body)).toBe("parked");
  }
  const count = (): Promise<number> =>
    bench
      .within((_ledger, { storage }) =>
        storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM records WHERE request IS NOT NULL").one(),
      )
      .then(({ n }) => n);
  pass(2 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  const left = await count();
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(messages);
  for (let alarms = 0; alarms < messages && (await count()) > 0; alarms += 1) await bench.deliverAlarm();
  expect(await count()).toBe(0);
  const stored = await bench.within((_ledger, { storage }) =>
    storage.sql
      .exec("SELECT count(*) AS letters, count(DISTINCT id) AS ids FROM outbox WHERE destination = ?", DESTINATION)
      .one(),
  );
  expect(stored).toEqual({ letters: messages, ids: messages });
});

it("says that the origin rejected what was released", async () => {
  const [bench, head] = await parkedMessage();
  bench.origin = () => new Response("no", { status: 422 });
  await change(bench, head, { type: "release" });
  expect(await letters(bench)).toEqual([]);
  pass(60_000);
  await bench.deliverAlarm();
  await eventually(async () => expect(await letters(bench)).toHaveLength(1));
  expect(await letters(bench)).toMatchObject([{ data: { reason: "rejected", status: 422, body: { n: 1 } } }]);
  expect(await bench.stored(head.record.id)).toMatchObject({ state: "completed", status: 422 });
});

it("says that nothing happened, if that is known of what was released and expired", async () => {
  const [bench, head] = await parkedMessage();
  bench.origin = () => new Response("later", { status: 503 });
  await change(bench, head, { type: "release" });
  for (const number of [2, 3]) {
    pass(60_000);
    await bench.deliverAlarm();
    await eventually(async () => expect(await bench.stored(head.record.id)).toMatchObject({ attempt: { number } }));
  }
  await eventually(async () => expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown" }));
  pass(2 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  expect(await letters(bench)).toMatchObject([{ data: { reason: "exhausted" } }]);
});

it.each([
  ["was resolved with a status that settles it", { type: "resolve", status: 200 }],
  ["was forgotten", { type: "forget" }],
])("does not exist of a message that %s", async (_what, event) => {
  const [bench, head] = await parkedMessage();
  pass(60_000);
  await change(bench, head, event);
  pass(3 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  expect(await bench.stored(head.record.id)).toBeNull();
  expect(await letters(bench)).toEqual([]);
});

it("does not exist of an operation with an unknown outcome that was not parked", async () => {
  const bench = new ShardBench();
  bench.origin = () => new Response("?", { status: 504 });
  const { park: _park, ...head } = messageHead();
  await deliver(bench, head, "{}");
  pass(2 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  expect(await bench.stored(head.record.id)).toBeNull();
  expect(await letters(bench)).toEqual([]);
});

it("reaches its queue as the text that was stored, through the binding that the consumer uses", async () => {
  const sent: { readonly body: string; readonly contentType: string }[] = [];
  const binding = { sendBatch: (batch: typeof sent) => Promise.resolve(void sent.push(...batch)) };
  Object.defineProperty(env, "ORDERS_DEAD", { value: binding, configurable: true });
  const [bench] = await parkedMessage(messageHead(), '{"n":12345678901234567890,"sum":1e20}');
  pass(2 * UNKNOWN_RETENTION_MS);
  await bench.deliverAlarm();
  await eventually(async () => expect(await letters(bench)).toEqual([]));
  Reflect.deleteProperty(env, "ORDERS_DEAD");
  expect(sent).toHaveLength(1);
  const { body = "", contentType } = sent[0] ?? {};
  expect(contentType).toBe("text");
  expect(JSON.parse(body)).toMatchObject(UNKNOWN);
  expect(body).toContain('"body":{"n":12345678901234567890,"sum":1e20}');
});

it("is in one commit with the end of its record: if it cannot be written, the record stays", async () => {
  const [bench, head] = await parkedMessage();
  pass(2 * UNKNOWN_RETENTION_MS);
  const insert = vi.spyOn(OutboxRows.prototype, "insert").mockImplementation(() => {
    throw new Error("full");
  });
  await bench.deliverAlarm();
  expect(insert).toHaveBeenCalled();
  expect(await bench.stored(head.record.id)).not.toBeNull();
  insert.mockRestore();
  await bench.deliverAlarm();
  expect(await bench.stored(head.record.id)).toBeNull();
  expect(await letters(bench)).toHaveLength(1);
});
