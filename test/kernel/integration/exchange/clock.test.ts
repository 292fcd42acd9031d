// A wrong clock: it goes back between two moments of one attempt, or far ahead while an attempt runs. As long as the lock
// lasts by the object's clock there is no second attempt, and when the clock is right again nothing is stuck.

import { describe, expect, it, vi } from "vitest";
import {
  again,
  headOf,
  heldAnswer,
  LOCK_MS,
  messageOf,
  RETENTION_MS,
  ShardBench,
} from "../../../support/integration/shard-bench.ts";
import { untilState } from "../../../support/integration/accepted.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";

const HOUR_MS = 3_600_000;

standStill(["warn", "error"]);

describe("a clock that was ahead for a moment", () => {
  it("puts off no question about an attempt that could not be asked meanwhile", async () => {
    const bench = new ShardBench();
    bench.origin = () => Promise.reject(new Error("connection lost"));
    const head = headOf({}, "verify");
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 502, code: "origin-dropped" });
    bench.origin = () => new Response("it took effect", { status: 200 });
    const setRule = (unknown: string): Promise<unknown> =>
      bench.within((_ledger, { storage }) => storage.sql.exec("UPDATE records SET unknown = ?", unknown).toArray());
    await setRule("later");
    const right = Date.now() + LOCK_MS;
    vi.setSystemTime(right + HOUR_MS / 6);
    await bench.deliverAlarm();
    await setRule("verify");
    expect(bench.calls).toEqual(["POST /act 1"]);
    vi.setSystemTime(right);
    expect(await bench.send(messageOf(headOf()))).toMatchObject({ status: 200 });
    await bench.deliverAlarm();
    await untilState(bench, head, "completed");
  });
});

describe("a clock that goes back by an hour", () => {
  it("between claim and completion: the answer is kept, and replayed as long as it should be", async () => {
    const bench = new ShardBench();
    const { origin, release } = heldAnswer(() => new Response("done", { status: 201 }));
    bench.origin = origin;
    const head = headOf();
    const claimedAt = Date.now();
    const first = bench.send(messageOf(head));
    await bench.called(1);
    vi.setSystemTime(claimedAt - HOUR_MS);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 409, code: "in-flight" });
    await bench.deliverAlarm();
    release();
    expect(await first).toMatchObject({ status: 201, text: "done", isReplay: false });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "done", isReplay: true });
    vi.setSystemTime(claimedAt);
    await bench.deliverAlarm();
    for (const at of [claimedAt, claimedAt + LOCK_MS, claimedAt - HOUR_MS + RETENTION_MS - 1]) {
      vi.setSystemTime(at);
      expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: "done", isReplay: true });
    }
    expect(bench.calls).toEqual(["POST /act 1"]);
    vi.setSystemTime(claimedAt - HOUR_MS + RETENTION_MS);
    bench.origin = () => new Response("anew", { status: 201 });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: "anew", isReplay: false });
  });

  it("between the claim of a lost attempt and its duplicates: no second attempt before the lock's end", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Promise(() => undefined);
    const head = headOf();
    const claimedAt = Date.now();
    void bench.send(messageOf(head)).catch(() => undefined);
    await bench.called(1);
    await bench.lose();
    bench.origin = () => new Response("second", { status: 201 });
    for (const at of [claimedAt - HOUR_MS, claimedAt - 1, claimedAt, claimedAt + LOCK_MS - 1]) {
      vi.setSystemTime(at);
      await bench.deliverAlarm();
      expect(await bench.alarmAt()).toBe(claimedAt + LOCK_MS);
      const retryAfterSeconds = Math.ceil((claimedAt + LOCK_MS - at) / 1000);
      expect(await bench.send(messageOf(again(head)))).toMatchObject({ code: "in-flight", retryAfterSeconds });
    }
    expect(bench.calls).toHaveLength(1);
    vi.setSystemTime(claimedAt + LOCK_MS);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "second" });
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });

  it("after an attempt whose outcome is open: its lock still counts, and the next attempt comes after it", async () => {
    const bench = new ShardBench();
    bench.origin = () => Promise.reject(new Error("connection lost"));
    const head = headOf();
    const claimedAt = Date.now();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 502, code: "origin-dropped" });
    bench.origin = () => new Response("second", { status: 201 });
    vi.setSystemTime(claimedAt - HOUR_MS);
    await bench.deliverAlarm();
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 409, code: "in-flight" });
    vi.setSystemTime(claimedAt + LOCK_MS);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "second" });
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });

  it("before the origin is asked: its report of no effect frees the key only after the lock's end", async () => {
    const bench = new ShardBench();
    bench.origin = () => Promise.reject(new Error("connection lost"));
    const head = headOf({}, "verify");
    const claimedAt = Date.now();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 502, code: "origin-dropped" });
    bench.origin = ({ method }) => new Response("", { status: method === "GET" ? 404 : 201 });
    vi.setSystemTime(claimedAt - HOUR_MS);
    for (let times = 0; times < 2; times += 1) {
      expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 409, code: "outcome-unknown" });
    }
    vi.setSystemTime(claimedAt + LOCK_MS);
    await bench.deliverAlarm();
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "failed" });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201 });
    expect(bench.calls.filter((call) => call.startsWith("POST"))).toEqual(["POST /act 1", "POST /act 2"]);
  });
});

describe("a clock that jumps ahead", () => {
  it.each([
    ["the lock", LOCK_MS],
    ["the lock and the retention", LOCK_MS + RETENTION_MS],
    ["a year", 365 * 24 * HOUR_MS],
  ])("past %s while an attempt lives: the attempt keeps its record, and its answer", async (_what, ms) => {
    const bench = new ShardBench();
    const { origin, release } = heldAnswer(() => new Response("done", { status: 201 }));
    bench.origin = origin;
    const head = headOf();
    const first = bench.send(messageOf(head));
    await bench.called(1);
    vi.setSystemTime(Date.now() + ms);
    await bench.deliverAlarm();
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "started" });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 409, code: "in-flight" });
    expect(await bench.stored(head.record.id)).toMatchObject({
      attempt: { id: head.request.attemptId, lockedUntil: Date.now() + LOCK_MS },
    });
    release();
    expect(await first).toMatchObject({ status: 201, text: "done" });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ text: "done", isReplay: true });
    expect(bench.calls).toEqual(["POST /act 1"]);
  });
});
