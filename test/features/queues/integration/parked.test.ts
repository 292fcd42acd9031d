// Messages of a queue whose outcome is unknown, stored with their records, in a real shard.

import { expect, it, vi } from "vitest";
import { durationMs } from "../../../../src/kernel/record/units.ts";
import { encodeMessage, type ExchangeHead, EXCHANGE_CALL } from "../../../../src/kernel/request/message.ts";
import { CHANGE_CALL } from "../../../../src/kernel/object/operator-calls.ts";
import { again, headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { eventually } from "../../../support/eventually.ts";

const SCHEDULE = {
  attempts: 2,
  firstPauseMs: durationMs(1000),
  longestPauseMs: durationMs(2000),
  giveUpAfterMs: durationMs(600_000),
};

function messageHead(unknown: "hold" | "verify" = "hold"): ExchangeHead {
  const head = headOf({}, unknown);
  return { ...head, park: true, rules: { ...head.rules, policy: { ...head.rules.policy, schedule: SCHEDULE } } };
}

/** The word with which the consumer decides. */
async function deliver(bench: ShardBench, head: ExchangeHead): Promise<string | null> {
  const response = await bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: messageOf(head) });
  await response.arrayBuffer();
  return response.headers.get("Idempotency-Status");
}

async function release(bench: ShardBench, head: ExchangeHead): Promise<void> {
  const event = { type: "release", by: "admin", reason: "it had no effect" } as const;
  const change = encodeMessage({ head: { id: head.record.id, event, headers: [] }, body: new Uint8Array() });
  await bench.stub.fetch(CHANGE_CALL.url, { method: "POST", body: change });
  vi.setSystemTime(Date.now() + 60_000);
  await bench.deliverAlarm();
}

async function until(bench: ShardBench, head: ExchangeHead, expected: object): Promise<void> {
  await eventually(async () => expect(await bench.stored(head.record.id)).toMatchObject(expected));
}

it("is parked once, and tried when an operator has released it", async () => {
  const bench = new ShardBench();
  bench.origin = () => new Response("?", { status: 504 });
  const head = messageHead();
  expect(await deliver(bench, head)).toBe("first");
  expect(await bench.stored(head.record.id)).not.toHaveProperty("accepted");
  expect(await deliver(bench, again(head))).toBe("parked");
  const parked = await bench.stored(head.record.id);
  expect(parked).toMatchObject({ state: "unknown", accepted: { isParked: true } });
  // Its acknowledgement was lost.
  expect(await deliver(bench, again(head))).toBe("parked");
  expect(await bench.stored(head.record.id)).toEqual(parked);
  await bench.lose();
  bench.origin = async (request) => new Response(await request.text(), { status: 201 });
  await release(bench, head);
  await until(bench, head, { state: "completed", status: 201 });
  expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "{}", isReplay: true });
});

it("is parked again when no attempt is left, and never given up", async () => {
  const bench = new ShardBench();
  bench.origin = (_request, number) => new Response("?", { status: number === 1 ? 504 : 503 });
  const head = messageHead();
  await deliver(bench, head);
  expect(await deliver(bench, again(head))).toBe("parked");
  await release(bench, head);
  await until(bench, head, { state: "waiting", attempt: { number: 2 } });
  vi.setSystemTime(Date.now() + 60_000);
  await bench.deliverAlarm();
  await until(bench, head, { state: "unknown", attempt: { number: 3 } });
  expect(await deliver(bench, again(head))).toBe("parked");
  bench.origin = () => new Response("done");
  await release(bench, head);
  await until(bench, head, { state: "completed" });
});

it("is not parked before its time, while the origin can be asked", async () => {
  const bench = new ShardBench();
  bench.origin = (request) => new Response("?", { status: request.method === "GET" ? 503 : 504 });
  const { park: _park, ...head } = messageHead("verify");
  await deliver(bench, head);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await deliver(bench, again(head))).toBe("outcome-unknown");
  expect(await deliver(bench, again({ ...head, park: true }))).toBe("parked");
  bench.origin = () => new Response("it happened");
  vi.setSystemTime(Date.now() + 60_000);
  await bench.deliverAlarm();
  await until(bench, head, { state: "completed", status: 200 });
  const rows = await bench.within((_ledger, { storage }) =>
    storage.sql.exec("SELECT count(*) AS n FROM records WHERE request IS NOT NULL").one(),
  );
  expect(rows).toEqual({ n: 0 });
});
