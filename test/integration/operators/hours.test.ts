// What objects count by hours, in workerd: kept across evictions, in a row that is written seldom.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EVERY_MS, type HourOfShard } from "../../../src/shard/hours.ts";
import { operatorCalls } from "../../../src/shard/itty.ts";
import type { KeyShard } from "../../../src/shard/key-shard.ts";
import { TRAFFIC_URL, Traffic } from "../../../src/traffic/traffic.ts";
import type { ExchangeReport } from "../../../src/traffic/traffic.ts";
import { ReplayCounts } from "../../../src/traffic/replay-counts.ts";

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
  async count(): Promise<void> {
    const replays = new ReplayCounts();
    const traffic = new Traffic(replays);
    traffic.exchange(REPORT, Date.now());
    const body = JSON.stringify({ ...traffic.take(), replays: replays.take() });
    const { status } = await this.#stub.fetch(TRAFFIC_URL, { method: "POST", body });
    if (status !== 204) throw new Error(`the counts were refused: ${status}`);
  }

  get calls(): ReturnType<typeof operatorCalls<KeyShard>> {
    return operatorCalls<KeyShard>(this.#stub);
  }

  async replaysIn(hours: Promise<readonly HourOfShard[]>): Promise<readonly (readonly [number, number])[]> {
    return (await hours).map(({ at, routes }) => [at, routes[0]?.outcomes.replay ?? 0]);
  }

  evict(): Promise<void> {
    return evictDurableObject(this.#stub);
  }

  rows(): Promise<number> {
    return runInDurableObject(this.#stub, (_instance, { storage }) => {
      const tables = storage.sql.exec("SELECT name FROM sqlite_schema WHERE name = 'hours'").toArray();
      return tables.length === 0 ? 0 : storage.sql.exec("SELECT hour FROM hours").toArray().length;
    });
  }
}

const BEGIN = Math.floor(NOW / HOUR_MS) * HOUR_MS;

it("keeps the counts of an hour when the object leaves memory, and loses at most those since the last row", async () => {
  const shard = new CountingShard();
  await shard.count();
  await shard.count();
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 2]]);
  await shard.evict();
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 1]]);
  await shard.count();
  vi.setSystemTime(NOW + EVERY_MS);
  await shard.count();
  await shard.evict();
  expect(await shard.replaysIn(shard.calls.hours())).toEqual([[BEGIN, 3]]);
});

it("keeps a day, one row for each hour", async () => {
  const shard = new CountingShard();
  for (let hour = 0; hour < 30; hour += 1) {
    vi.setSystemTime(NOW + hour * HOUR_MS);
    await shard.count();
    await shard.count();
  }
  expect(await shard.rows()).toBe(25);
  const hours = await shard.replaysIn(shard.calls.hours());
  expect(hours).toHaveLength(25);
  expect(hours.every(([, replays]) => replays === 2)).toBe(true);
});

it("says how often a record was replayed, and when last", async () => {
  const shard = new CountingShard();
  const id = "ab".repeat(32);
  expect(await shard.calls.replaysOf(id)).toBeNull();
  await shard.count();
  vi.setSystemTime(NOW + 2 * HOUR_MS);
  await shard.count();
  expect(await shard.calls.replaysOf(id)).toMatchObject({ count: 2, lastAt: NOW + 2 * HOUR_MS });
  expect(await shard.calls.replaysOf("cd".repeat(32))).toBeNull();
});

it("writes nothing in the object of a single key", async () => {
  const shard = new CountingShard(`key-${crypto.randomUUID()}`);
  await shard.count();
  expect(await shard.rows()).toBe(0);
});
