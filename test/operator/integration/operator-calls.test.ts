// An operator's views and changes of a shard while attempts run, are lost and finish late.

import { EVERY_RECORD } from "../../support/integration/records.ts";
import { expect, it } from "vitest";
import { epochMs, type RecordId } from "../../../src/kernel/record/units.ts";
import { BODY_CALL } from "../../../src/kernel/object/operator-calls.ts";
import { OperatedBench } from "../../support/integration/operated-bench.ts";
import { again, headOf, heldAnswer, messageOf } from "../../support/integration/shard-bench.ts";

class AgedBench extends OperatedBench {
  /** Ages the stored records by so much. */
  age(id: RecordId, ms: number): Promise<void> {
    return this.within((ledger) => {
      const entry = ledger.find(id);
      if (entry?.record.state !== "started") throw new Error("not started");
      const { attempt } = entry.record;
      const lockedUntil = epochMs(attempt.lockedUntil - ms);
      ledger.save(id, entry, { ...entry.record, attempt: { ...attempt, lockedUntil } });
    });
  }
}

const by = { by: "admin", reason: "because" };
const COUNTS = { inFlight: 0, failed: 0, unknown: 0 };

it("a lost attempt is shown as lost and can be changed before any alarm has come", async () => {
  const bench = new AgedBench();
  const head = headOf({}, "hold");
  bench.origin = heldAnswer(() => new Response()).origin;
  const sent = bench.send(messageOf(head)).catch(() => null);
  await bench.called(1);
  expect(await bench.operator.counts()).toMatchObject({ ...COUNTS, inFlight: 1 });
  await bench.lose();
  await sent;
  await bench.age(head.record.id, 60_000);
  await bench.evict();
  expect(await bench.operator.counts()).toMatchObject({ ...COUNTS, unknown: 1 });
  const before = await bench.stored(head.record.id);
  expect(await bench.operator.inspect(head.record.id)).toMatchObject({
    key: "key",
    route: "/act",
    record: { state: "unknown" },
    timeline: [{ type: "attempt", attempt: 1, verdict: "lost" }],
    response: null,
  });
  // Looking changes nothing.
  expect(await bench.stored(head.record.id)).toEqual(before);
  const resolved = await bench.change(head.record.id, { type: "resolve", ...by, status: 200 }, new Uint8Array([1, 2]));
  expect(resolved).toMatchObject({
    why: null,
    detail: {
      record: { state: "completed", status: 200 },
      timeline: [{ verdict: "lost" }, { type: "change", action: "resolve", ...by }],
      response: { status: 200, headers: [["x-by", "hand"]], sizeBytes: 2 },
    },
  });
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 200, text: "\u0001\u0002", isReplay: true });
  // The alarm later looks for what was left to erase.
  expect(await bench.alarmAt()).not.toBeNull();
});

it("a running attempt with an overdue lock renewal is shown in flight, and cannot be changed", async () => {
  const bench = new AgedBench();
  const held = heldAnswer(() => new Response("late", { status: 201 }));
  bench.origin = held.origin;
  const head = headOf({}, "retry");
  const sent = bench.send(messageOf(head));
  await bench.called(1);
  const { id: recordId } = head.record;
  for (const event of [
    { type: "release", ...by },
    { type: "resolve", ...by, status: 200 },
    { type: "forget", ...by },
  ] as const) {
    const answer = await bench.change(recordId, event);
    expect(answer).toMatchObject({ why: "in-flight", detail: { record: { state: "started" } } });
  }
  await bench.age(recordId, 60_000);
  const { records } = await bench.operator.list(EVERY_RECORD);
  expect(records).toMatchObject([{ id: recordId, record: { state: "started" } }]);
  held.release();
  expect(await sent).toMatchObject({ status: 201, text: "late" });
  expect(await bench.operator.inspect(recordId)).toMatchObject({ timeline: [{ verdict: "result", status: 201 }] });
});

it("forget also erases the body, and the next request is a first one", async () => {
  const bench = new AgedBench();
  const large = "x".repeat(600_000);
  bench.origin = () => new Response(large, { status: 201 });
  const head = headOf();
  await bench.send(messageOf(head));
  const body = await bench.stub.fetch(BODY_CALL.url, { method: "POST", body: head.record.id });
  expect(await body.text()).toBe(large);
  expect(await bench.change(head.record.id, { type: "forget", ...by })).toEqual({ why: null, detail: null });
  expect((await bench.stub.fetch(BODY_CALL.url, { method: "POST", body: head.record.id })).status).toBe(404);
  while (await bench.alarm());
  const chunks = "SELECT count(*) AS n FROM chunks";
  expect(await bench.within((_ledger, { storage }) => storage.sql.exec(chunks).one())).toEqual({ n: 0 });
  expect(await bench.change(head.record.id, { type: "forget", ...by })).toEqual({ why: "none", detail: null });
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ isReplay: false });
  expect(bench.calls).toHaveLength(2);
});

it("resolve replaces the stored part of a lost attempt's body, which is erased", async () => {
  const bench = new AgedBench();
  const head = headOf({}, "hold");
  bench.origin = heldAnswer(() => new Response()).origin;
  const sent = bench.send(messageOf(head)).catch(() => null);
  await bench.called(1);
  await bench.lose();
  await sent;
  // Simulates a loss in the middle of a long response.
  await bench.within((ledger) => {
    const body = ledger.find(head.record.id)?.body ?? null;
    if (body === null) throw new Error("no claim");
    ledger.bodies.append(body, 0, new Uint8Array(1000));
  });
  await bench.age(head.record.id, 60_000);
  await bench.evict();
  expect(await bench.change(head.record.id, { type: "resolve", ...by, status: 200 })).toMatchObject({ why: null });
  await bench.alarm();
  const chunks = "SELECT count(*) AS n FROM chunks";
  expect(await bench.within((_ledger, { storage }) => storage.sql.exec(chunks).one())).toEqual({ n: 0 });
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 200, text: "", isReplay: true });
});

it("counts the records that need a decision, locks that have ended included", async () => {
  const bench = new AgedBench();
  bench.origin = () => new Response(null, { status: 503 });
  await bench.send(messageOf(headOf()));
  bench.origin = () => new Response(null, { status: 504 });
  await bench.send(messageOf(headOf({}, "hold")));
  await bench.send(messageOf(headOf({}, "verify")));
  bench.origin = () => new Response(null, { status: 200 });
  await bench.send(messageOf(headOf()));
  const counts = await bench.operator.counts();
  expect(counts).toMatchObject({ inFlight: 0, failed: 1, unknown: 2 });
  expect(counts.bytes).toBeGreaterThan(4096);
});

it("a record has the route of its latest attempt, also when its key was used on another route before", async () => {
  const bench = new AgedBench();
  const head = headOf({ record: { route: "/old" } });
  bench.origin = (_request, number) => new Response(null, { status: number === 1 ? 503 : 201 });
  await bench.send(messageOf(head));
  expect(await bench.operator.inspect(head.record.id)).toMatchObject({ key: "key", route: "/old" });
  await bench.send(messageOf({ ...again(head), record: { ...head.record, route: "/new" } }));
  expect(await bench.operator.inspect(head.record.id)).toMatchObject({
    key: "key",
    route: "/new",
    record: { state: "completed", attempt: { number: 2 } },
  });
});

it("resolving a lost attempt before any alarm leaves nothing of its body behind", async () => {
  const bench = new AgedBench();
  bench.origin = () => {
    const { readable, writable } = new IdentityTransformStream();
    void writable.getWriter().write(new Uint8Array(600_000));
    return new Response(readable, { status: 201 });
  };
  const head = headOf({}, "hold");
  const sent = bench.send(messageOf(head)).catch(() => null);
  const chunks = (): Promise<number> =>
    bench.within((_ledger, { storage }) => storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM chunks").one().n);
  while ((await chunks()) < 2) await scheduler.wait(1);
  await bench.lose();
  await sent;
  await bench.age(head.record.id, 60_000);
  await bench.evict();
  expect(await bench.change(head.record.id, { type: "resolve", ...by, status: 200 })).toMatchObject({ why: null });
  await bench.deliverAlarm();
  expect(await chunks()).toBe(0);
});
