// What objects count, in workerd: in a row for each hour, soon after it was counted, whoever leaves memory.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HourOfShard } from "../../../../src/kernel/object/kept-counts.ts";
import { recordId } from "../../../../src/kernel/record/units.ts";
import { operatorCalls } from "../../../support/integration/operated-bench.ts";
import { CountRows } from "../../../../src/kernel/store/counts.ts";
import { countOf } from "../../../../src/kernel/traffic/route-counters.ts";
import { type SentBatch, TRAFFIC_CALL, TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import type { ExchangeReport } from "../../../../src/kernel/traffic/traffic.ts";

const HOUR_MS = 3_600_000;
const NOW = 1_800_000_000_000;
const REPORT: ExchangeReport = {
  at: NOW,
  route: "/act",
  recordId: "ab".repeat(32),
  outcome: "replay",
  status: 201,
  attempt: 1,
  durationMs: 4,
  originMs: null,
  waitedMs: 0,
};

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

class CountingShard {
  readonly #stub: DurableObjectStub;

  /** Only an object with many keys keeps hours; the name says so. */
  constructor(name = `shard-1-of-${crypto.randomUUID()}`) {
    this.#stub = env.KEY_SHARD.getByName(name);
  }

  /** An isolate hands over that it has given one replay. */
  async count(isUrgent = true, id: string = crypto.randomUUID()): Promise<void> {
    const traffic = new TrafficCounters();
    traffic.exchange(REPORT, Date.now());
    const body = JSON.stringify({ ...traffic.take(), id, isUrgent } satisfies SentBatch);
    const { status } = await this.#stub.fetch(TRAFFIC_CALL.url, { method: "POST", body });
    if (status !== 204) throw new Error(`the counts were refused: ${status}`);
  }

  get calls(): ReturnType<typeof operatorCalls> {
    return operatorCalls(this.#stub);
  }

  async replaysIn(hours: Promise<readonly HourOfShard[]>): Promise<readonly (readonly [number, number])[]> {
    return (await hours).map(({ at, routes: [route] }) => [
      at,
      route === undefined ? 0 : countOf(route, "requests", "replay"),
    ]);
  }

  evict(): Promise<void> {
    return evictDurableObject(this.#stub);
  }

  rows(): Promise<number> {
    return runInDurableObject(this.#stub, (_instance, { storage }) => {
      const tables = storage.sql.exec("SELECT name FROM sqlite_schema WHERE name = 'counts'").toArray();
      return tables.length === 0 ? 0 : storage.sql.exec("SELECT hour FROM counts").toArray().length;
    });
  }
}

const BEGIN = Math.floor(NOW / HOUR_MS) * HOUR_MS;

it("says that it has counted only when the counts outlive its memory", async () => {
  const shard = new CountingShard();
  await shard.count();
  // Nobody waits for this one, so it shares a row with what comes soon.
  await Promise.all([shard.count(false), shard.count(false), shard.count(false)]);
  await shard.evict();
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 4]]);
});

it("counts a batch once, however often it comes", async () => {
  const shard = new CountingShard();
  for (const isUrgent of [true, false, true]) await shard.count(isUrgent, "the same");
  await shard.evict();
  await shard.count(true, "the same");
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 1]]);
});

it("refuses a batch that it cannot write, and counts it when it comes again", async () => {
  const shard = new CountingShard();
  vi.spyOn(console, "error").mockReturnValue();
  const put = vi.spyOn(CountRows.prototype, "put").mockImplementation(() => {
    throw new Error("the disk is full");
  });
  await expect(shard.count(true, "again")).rejects.toThrow("the counts were refused: 503");
  put.mockRestore();
  await shard.count(true, "again");
  await shard.evict();
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 1]]);
});

it("keeps a day, one row for each hour, and adds up what was before", async () => {
  const shard = new CountingShard();
  for (let hour = 0; hour < 60; hour += 1) {
    vi.setSystemTime(NOW + hour * HOUR_MS);
    await shard.count();
    await shard.count();
  }
  // Those that are shown, as many before them, and one for all that was before those.
  expect(await shard.rows()).toBe(52);
  const hours = await shard.replaysIn(shard.calls.hours());
  expect(hours).toHaveLength(25);
  expect(hours.every(([, replays]) => replays === 2)).toBe(true);
  const { routes } = await shard.calls.numbers();
  expect(routes.map((one) => countOf(one, "requests", "replay"))).toEqual([120]);
});

describe("a clock that is days ahead for a moment", () => {
  const DAYS_MS = 72 * HOUR_MS;

  it("takes no hour of the last day away, and what it counts counts as of now", async () => {
    const shard = new CountingShard();
    for (let hour = 0; hour < 20; hour += 1) {
      vi.setSystemTime(NOW + hour * HOUR_MS);
      await shard.count();
    }
    vi.setSystemTime(NOW + DAYS_MS);
    await shard.count();
    await shard.evict();
    vi.setSystemTime(NOW + 19 * HOUR_MS);
    await shard.count();
    const hours = await shard.replaysIn(shard.calls.hours());
    expect(hours.map(([at]) => at)).toEqual([
      ...Array.from({ length: 20 }, (_, hour) => BEGIN + hour * HOUR_MS),
      BEGIN + 19 * HOUR_MS,
    ]);
    expect(hours.reduce((sum, [, replays]) => sum + replays, 0)).toBe(22);
    const { routes } = await shard.calls.numbers();
    expect(routes.map((one) => countOf(one, "requests", "replay"))).toEqual([22]);
    expect(await shard.calls.replaysOf(recordId("ab".repeat(32)))).toMatchObject({ lastAt: NOW + 19 * HOUR_MS });
  });

  it("hides no batch that was taken: one that comes again counts once", async () => {
    const shard = new CountingShard();
    await shard.count(true, "before");
    vi.setSystemTime(NOW + DAYS_MS);
    await shard.count(true, "before");
    await shard.count(true, "ahead");
    vi.setSystemTime(NOW);
    await shard.count(true, "after");
    await shard.evict();
    for (const id of ["before", "ahead", "after"]) await shard.count(true, id);
    const { routes } = await shard.calls.numbers();
    expect(routes.map((one) => countOf(one, "requests", "replay"))).toEqual([3]);
  });
});

it("an object that cannot write says what it has stored and what it remembers, and that it cannot write", async () => {
  const shard = new CountingShard();
  await shard.count();
  vi.spyOn(console, "error").mockReturnValue();
  const put = vi.spyOn(CountRows.prototype, "put").mockImplementation(() => {
    throw new Error("the disk is full");
  });
  await expect(shard.count()).rejects.toThrow("the counts were refused: 503");
  const shown = await shard.calls.numbers();
  expect(shown.isUnwritten).toBe(true);
  expect(shown.routes.map((one) => countOf(one, "requests", "replay"))).toEqual([2]);
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 2]]);
  expect(await shard.calls.replaysOf(recordId("ab".repeat(32)))).toMatchObject({ count: 2 });
  put.mockRestore();
  expect(await shard.calls.numbers()).toMatchObject({ isUnwritten: false });
  await shard.evict();
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 2]]);
});

it("says how often a record was replayed, and when last", async () => {
  const shard = new CountingShard();
  const id = recordId("ab".repeat(32));
  expect(await shard.calls.replaysOf(id)).toBeNull();
  await shard.count();
  vi.setSystemTime(NOW + 2 * HOUR_MS);
  await shard.count();
  expect(await shard.calls.replaysOf(id)).toMatchObject({ count: 2, lastAt: NOW + 2 * HOUR_MS });
  expect(await shard.calls.replaysOf(recordId("cd".repeat(32)))).toBeNull();
});

it("writes nothing in the object of a single key", async () => {
  const shard = new CountingShard(`key-${crypto.randomUUID()}`);
  await shard.count();
  expect(await shard.rows()).toBe(0);
});
