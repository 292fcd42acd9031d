// What can happen to a shard's alarm: it comes twice, late, without due work, or never; its work fails. In every case it
// starts or ends no attempt that it should not, and due work is done in the end.

import { describe, expect, it, vi } from "vitest";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { durationMs } from "../../../../src/kernel/record/units.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import {
  again,
  headOf,
  heldAnswer,
  LOCK_MS,
  messageOf,
  RETENTION_MS,
  ShardBench,
  UNKNOWN_RETENTION_MS,
} from "../../../support/integration/shard-bench.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { eventually } from "../../../support/eventually.ts";

standStill(["error"]);

/** A shard that has lost an attempt, and the head of the request that had started it. */
async function withLostAttempt(
  unknown: ExchangeHead["rules"]["policy"]["unknown"],
): Promise<[ShardBench, ExchangeHead]> {
  const bench = new ShardBench();
  bench.origin = () => new Promise(() => undefined);
  const head = headOf({}, unknown);
  void bench.send(messageOf(head)).catch(() => undefined);
  await bench.called(1);
  await bench.lose();
  bench.origin = (_request, number) => new Response(`answer ${number}`, { status: 201 });
  return [bench, head];
}

function passTime(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Everything that the shard has stored. */
function dump(bench: ShardBench): Promise<unknown> {
  return bench.within((_ledger, { storage }) =>
    ["records", "chunks", "discarded", "remote"].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
  );
}

async function lockEnd(bench: ShardBench, head: ExchangeHead): Promise<number> {
  return (await bench.stored(head.record.id))?.attempt.lockedUntil ?? Number.NaN;
}

describe("an alarm that is delivered twice", () => {
  it.each(["retry", "hold"] as const)("ends a lock once: %s", async (unknown) => {
    const [bench, head] = await withLostAttempt(unknown);
    const end = await lockEnd(bench, head);
    passTime(LOCK_MS);
    await bench.deliverAlarm(2);
    const ended = await bench.stored(head.record.id);
    passTime(1000);
    await bench.deliverAlarm();
    expect(await bench.stored(head.record.id)).toEqual(ended);
    expect(ended).toMatchObject({
      state: unknown === "retry" ? "failed" : "unknown",
      attempt: { number: 1, lockedUntil: end },
      expiresAt: end + (unknown === "retry" ? RETENTION_MS : UNKNOWN_RETENTION_MS),
    });
    expect(bench.calls).toHaveLength(1);
  });

  it("asks the origin once", async () => {
    const [bench, head] = await withLostAttempt("verify");
    bench.origin = () => new Response("it happened");
    passTime(LOCK_MS);
    await bench.deliverAlarm(3);
    expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -"]);
    // The alarm does not wait for the answer.
    await eventually(async () =>
      expect(await bench.stored(head.record.id)).toMatchObject({ state: "completed", status: 200 }),
    );
    await bench.deliverAlarm();
    expect(await bench.send(messageOf(again(head)))).toMatchObject({
      status: 200,
      text: "it happened",
      isReplay: true,
    });
    expect(bench.calls).toHaveLength(2);
  });

  it("does not ask again before the pause has passed", async () => {
    const [bench, head] = await withLostAttempt("verify");
    bench.origin = () => new Response("not now", { status: 500 });
    passTime(LOCK_MS);
    for (let delivered = 0; delivered < 3; delivered += 1) await bench.deliverAlarm();
    expect(bench.calls).toHaveLength(2);
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown", verifications: 1 });
    passTime(2000);
    await bench.deliverAlarm(2);
    expect(bench.calls).toHaveLength(3);
    // The alarm is set to the time of the next question.
    expect(await bench.alarmAt()).toBe(Date.now() + 4000);
  });

  it("asks at its own times, however often duplicates have asked in between", async () => {
    const [bench, head] = await withLostAttempt("verify");
    bench.origin = () => new Response("not now", { status: 500 });
    passTime(LOCK_MS);
    await bench.deliverAlarm();
    for (let duplicate = 0; duplicate < 10; duplicate += 1) {
      const said = await bench.send(messageOf(again(head)));
      expect(said).toMatchObject({ status: 409, code: "outcome-unknown", retryAfterSeconds: 2 });
    }
    expect(bench.calls).toHaveLength(12);
    expect(await bench.stored(head.record.id)).toMatchObject({ verifyAt: Date.now() + 2000 });
    expect(await bench.alarmAt()).toBe(Date.now() + 2000);
  });

  it("erases each expired record once, and no other", async () => {
    const bench = new ShardBench();
    const brief = headOf();
    const [old, kept] = [
      { ...brief, rules: { ...brief.rules, policy: { ...brief.rules.policy, retentionMs: durationMs(60_000) } } },
      headOf(),
    ];
    for (const head of [old, kept]) await bench.send(messageOf(head));
    passTime(60_000 * (1 + 1 / 8));
    await bench.deliverAlarm(2);
    expect(await bench.stored(old.record.id)).toBeNull();
    expect(await bench.send(messageOf(again(kept)))).toMatchObject({ isReplay: true, text: "answer 2" });
    expect(await bench.send(messageOf(again(old)))).toMatchObject({ isReplay: false, text: "answer 3" });
  });
});

describe("an alarm that comes late", () => {
  it("ends a lock as of the lock's own end, and erases a record that has expired since", async () => {
    const [bench, head] = await withLostAttempt("hold");
    const end = await lockEnd(bench, head);
    passTime(LOCK_MS + UNKNOWN_RETENTION_MS - 1);
    await bench.deliverAlarm();
    expect(await bench.stored(head.record.id)).toMatchObject({
      state: "unknown",
      expiresAt: end + UNKNOWN_RETENTION_MS,
    });
    passTime(1);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "answer 2" });
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 1"]);
  });

  it("does not touch a record that a request has changed before it", async () => {
    const [bench, head] = await withLostAttempt("retry");
    passTime(LOCK_MS + 1);
    const { origin, release } = heldAnswer(() => new Response("second", { status: 201 }));
    bench.origin = origin;
    const second = bench.send(messageOf(again(head)));
    await bench.called(2);
    const before = await dump(bench);
    await bench.deliverAlarm();
    expect(await dump(bench)).toEqual(before);
    release();
    expect(await second).toMatchObject({ status: 201, text: "second" });
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });
});

it("an alarm that comes when nothing is due changes nothing, and is set to the next deadline again", async () => {
  const [bench, lost] = await withLostAttempt("hold");
  await bench.send(messageOf(headOf()));
  const { origin, release } = heldAnswer(() => new Response("done", { status: 201 }));
  bench.origin = origin;
  const running = bench.send(messageOf(headOf()));
  await bench.called(3);
  const before = await dump(bench);
  for (let delivered = 0; delivered < 2; delivered += 1) {
    passTime(LOCK_MS / 4);
    await bench.deliverAlarm();
    expect(await dump(bench)).toEqual(before);
    expect(await bench.alarmAt()).toBe(await lockEnd(bench, lost));
  }
  release();
  expect(await running).toMatchObject({ status: 201, text: "done" });
});

it("no alarm is set when nothing is left to do", async () => {
  const bench = new ShardBench();
  await bench.send(messageOf(headOf()));
  passTime(2 * RETENTION_MS);
  expect(await bench.alarm()).toBe(true);
  expect(await bench.alarmAt()).toBeNull();
  await bench.deliverAlarm();
  expect(await bench.alarmAt()).toBeNull();
});

describe("an alarm that the platform has dropped", () => {
  it.each(["hold", "verify"] as const)("is set again by the next claim, and does what was due: %s", async (unknown) => {
    const [bench, head] = await withLostAttempt(unknown);
    await bench.within((_ledger, { storage }) => storage.deleteAlarm());
    await bench.evict();
    passTime(LOCK_MS + 5000);
    expect(await bench.alarmAt()).toBeNull();
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "started" });
    await bench.send(messageOf(headOf()));
    // Not set to the new claim's deadline, but to the overdue work.
    expect(await bench.alarmAt()).toBe(await lockEnd(bench, head));
    expect(await bench.alarm()).toBe(true);
    const state = unknown === "hold" ? "unknown" : "completed";
    await eventually(async () => expect(await bench.stored(head.record.id)).toMatchObject({ state }));
  });

  it("is set again after a request that writes nothing, by an instance that has just started or finds it overdue", async () => {
    const [bench, head] = await withLostAttempt("hold");
    const done = headOf();
    await bench.send(messageOf(done));
    const end = await lockEnd(bench, head);
    const drop = (): Promise<void> => bench.within((_ledger, { storage }) => storage.deleteAlarm());
    await drop();
    await bench.evict();
    await bench.send(messageOf(again(done)));
    await eventually(async () => expect(await bench.alarmAt()).toBe(end));
    await drop();
    passTime(LOCK_MS);
    await bench.send(messageOf(again(done)));
    expect(await bench.alarmAt()).toBeNull();
    passTime(120_000);
    await bench.send(messageOf(again(done)));
    await eventually(async () => expect(await bench.alarmAt()).toBe(end));
    expect(bench.calls).toHaveLength(2);
  });

  it("is set again by an instance that believes it is set, once it is overdue", async () => {
    const [bench, head] = await withLostAttempt("hold");
    await bench.send(messageOf(headOf()));
    expect(await bench.alarmAt()).toBe(await lockEnd(bench, head));
    await bench.within((_ledger, { storage }) => storage.deleteAlarm());
    passTime(LOCK_MS + 120_000);
    await bench.send(messageOf(headOf()));
    expect(await bench.alarmAt()).toBe(await lockEnd(bench, head));
    expect(await bench.alarm()).toBe(true);
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown" });
  });

  it("is not needed for requests: each sees the record in its state at the present time", async () => {
    const [bench, head] = await withLostAttempt("retry");
    await bench.within((_ledger, { storage }) => storage.deleteAlarm());
    await bench.evict();
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 409, code: "in-flight" });
    passTime(LOCK_MS);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "answer 2" });
  });
});

describe("an alarm whose work fails", () => {
  const refuse = (bench: ShardBench, what: string): Promise<unknown> =>
    bench.within((_ledger, { storage }) =>
      storage.sql.exec(`CREATE TRIGGER refuse BEFORE ${what} ON records BEGIN SELECT RAISE(FAIL, 'no room'); END`),
    );
  const allow = (bench: ShardBench): Promise<unknown> =>
    bench.within((_ledger, { storage }) => storage.sql.exec("DROP TRIGGER refuse"));

  it.each<[string, "hold" | "verify", (record: IdempotencyRecord | null) => void]>([
    ["ends a lock", "hold", (record) => expect(record).toMatchObject({ state: "unknown" })],
    ["asks the origin", "verify", (record) => expect(record).toMatchObject({ state: "completed", status: 201 })],
  ])("%s later: it sets itself again", async (_what, unknown, expectDone) => {
    const [bench, head] = await withLostAttempt(unknown);
    passTime(LOCK_MS);
    await refuse(bench, "UPDATE");
    const before = await dump(bench);
    for (let failing = 0; failing < 8; failing += 1) {
      // More often than the platform would retry.
      await bench.deliverAlarm();
      expect(await bench.alarmAt()).toBe(Date.now() + 5000);
      passTime(5000);
    }
    expect(await dump(bench)).toEqual(before);
    // The origin is not asked, because its report could not be written.
    expect(bench.calls).toEqual(["POST /act 1"]);
    await allow(bench);
    await bench.deliverAlarm();
    await eventually(async () => expectDone(await bench.stored(head.record.id)));
  });

  it("erases later", async () => {
    const bench = new ShardBench();
    const head = headOf();
    await bench.send(messageOf(head));
    passTime(2 * RETENTION_MS);
    await refuse(bench, "DELETE");
    await bench.deliverAlarm();
    expect(await bench.alarmAt()).toBe(Date.now() + 5000);
    expect(await bench.stored(head.record.id)).not.toBeNull();
    // An expired record is not found, whether or not it is erased.
    await allow(bench);
    expect(await bench.alarm()).toBe(true);
    expect(await bench.stored(head.record.id)).toBeNull();
    expect(await bench.alarmAt()).toBeNull();
  });
});
