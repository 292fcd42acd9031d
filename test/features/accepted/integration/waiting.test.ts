// What operators see of accepted requests that wait for their next attempt, and what they can do about them.

import { expect, it, vi } from "vitest";
import type { RecordState } from "../../../../src/kernel/record/record.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { closeObject } from "../../previous-shards/integration/close-object.ts"; // feature: previous-shards
import { objectState } from "../../../../src/operator/layouts.ts"; // feature: previous-shards
import { PLACES } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import { asyncHead, SCHEDULE, untilState } from "../../../support/integration/accepted.ts";
import { OperatedBench } from "../../../support/integration/operated-bench.ts";
import { EVERY_RECORD } from "../../../support/integration/records.ts";
import { heldAnswer, messageOf } from "../../../support/integration/shard-bench.ts";

const SECRET = "Bearer of-the-caller";

class WaitingBench extends OperatedBench {
  async listed(...states: readonly RecordState[]): Promise<readonly string[]> {
    const { records } = await this.operator.list({ ...EVERY_RECORD, states });
    return records.map(({ id }) => id);
  }

  /** A request that the origin refuses, so that it waits. It carries a credential. */
  async refused(): Promise<ExchangeHead> {
    this.origin = () => new Response("busy", { status: 503 });
    const head = asyncHead();
    const called = { ...head, call: { ...head.call, headers: [["authorization", SECRET]] } } as const;
    await this.send(messageOf(called));
    await untilState(this, called, "waiting");
    return called;
  }
}

const by = { by: "admin", reason: "because" };

it("counts them apart from attempts in flight and from what is unknown, and says how long the oldest has been due", async () => {
  const bench = new WaitingBench();
  await bench.refused();
  const others = { inFlight: 0, failed: 0, unknown: 0, atLeast: [] };
  expect(await bench.operator.counts()).toMatchObject({ ...others, waiting: 1, oldestWaitingMs: 0, placesTaken: 0 });
  vi.setSystemTime(Date.now() + SCHEDULE.firstPauseMs + 60_000);
  const late = await bench.operator.numbers();
  expect(late).toMatchObject({ ...others, waiting: 1, oldestMs: 0, oldestUnknownMs: 0 });
  expect(late.oldestWaitingMs).toBeGreaterThanOrEqual(60_000);
  expect(late.oldestWaitingMs).toBeLessThan(62_000);
});

it("counts the places that are taken, and those that wait for one", async () => {
  const bench = new WaitingBench();
  const held = heldAnswer(() => new Response("done"));
  bench.origin = held.origin;
  const heads = Array.from({ length: PLACES + 2 }, () => asyncHead());
  for (const head of heads) await bench.send(messageOf(head));
  await bench.called(PLACES);
  expect(await bench.operator.counts()).toMatchObject({ inFlight: PLACES, waiting: 2, placesTaken: PLACES });
  held.release();
  for (const head of heads) await untilState(bench, head, "completed");
  expect(await bench.operator.counts()).toMatchObject({ inFlight: 0, waiting: 0, placesTaken: 0 });
});

it("lists them under their state alone, and shows nothing of the stored request", async () => {
  const bench = new WaitingBench();
  const { record } = await bench.refused();
  expect(await bench.listed("waiting")).toEqual([record.id]);
  expect(await bench.listed()).toEqual([record.id]);
  expect(await bench.listed("started", "failed", "unknown")).toEqual([]);
  const detail = await bench.operator.inspect(record.id);
  expect(detail).toMatchObject({ record: { state: "waiting", attempt: { number: 1 } }, response: null });
  expect(JSON.stringify([detail, await bench.operator.list(EVERY_RECORD)])).not.toContain(SECRET);
});

it("counts what is given up after its last attempt, and not what its operator cancels", async () => {
  const bench = new WaitingBench();
  const head = await bench.refused();
  for (const attempt of [2, 3]) {
    vi.setSystemTime(Date.now() + SCHEDULE.longestPauseMs);
    await bench.deliverAlarm();
    await bench.called(attempt);
    await untilState(bench, head, attempt === 3 ? "failed" : "waiting");
  }
  const cancelled = await bench.refused();
  expect(await bench.change(cancelled.record.id, { type: "forget", ...by })).toEqual({ why: null, detail: null });
  const { routes } = await bench.operator.numbers();
  expect(routes).toMatchObject([{ route: "/act", counts: { givenUp: { "given-up": 1 } } }]);
});

// feature: previous-shards begins
it("does not call a closed object empty while they wait in it", async () => {
  const bench = new WaitingBench();
  const head = await bench.refused();
  await closeObject(bench.stub, { shards: 128, jurisdiction: null, locationHint: null });
  const counts = await bench.operator.counts();
  expect(counts).toMatchObject({ waiting: 1, closed: { holds: [{ what: "records", count: 1 }] }, lastExpiresAt: null });
  expect(objectState(counts)).toBe("closed");
  // It still makes their attempts.
  bench.origin = () => new Response("busy", { status: 503 });
  vi.setSystemTime(Date.now() + SCHEDULE.longestPauseMs);
  await bench.deliverAlarm();
  await bench.called(2);
  await untilState(bench, head, "waiting");
  await bench.change(head.record.id, { type: "forget", ...by });
  expect(objectState(await bench.operator.counts())).toBe("empty");
});
// feature: previous-shards ends

it("tries a released one at once, although its pause is not over", async () => {
  const bench = new WaitingBench();
  const head = await bench.refused();
  bench.origin = () => new Response("done");
  expect(await bench.change(head.record.id, { type: "release", ...by })).toMatchObject({ why: null });
  await bench.alarm();
  await untilState(bench, head, "completed");
  expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
});
