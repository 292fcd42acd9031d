// The size of a scrape: Prometheus reads it every few seconds, and each line is a series that it keeps.

import { describe, expect, it } from "vitest";
import { writeExposition, type MetricFamily } from "../../../src/operator/exposition.ts";
import { metricFamilies } from "../../../src/operator/metrics.ts";
import type { ScrapedShard } from "../../../src/operator/shard-metrics.ts";
import type { ShardNumbers } from "../../../src/kernel/object/operator-calls.ts";
import { COUNTED_NAMES, RouteCounters, type RouteNumbers } from "../../../src/kernel/traffic/route-counters.ts";

/** Numbers as large as after months of traffic: every digit is a byte. */
const HELD: ShardNumbers = {
  inFlight: 40,
  waiting: 10_000,
  failed: 10_000,
  unknown: 10_000,
  atLeast: [],
  bytes: 8_123_456_789,
  oldestMs: 123_456,
  oldestUnknownMs: 1_234_567,
  oldestWaitingMs: 123_456,
  placesTaken: 4,
  callsInFlight: 40,
  overdueMs: 1234,
  isUnwritten: false,
  since: 0,
  routes: [],
  features: { outbox: [], claims: [] },
  closed: null,
  lastExpiresAt: null,
};

const NONE_LEFT = { earlier: 0, missing: 0, oldestAnswerAt: null };

function shardsOf(count: number, changed: Partial<ShardNumbers> = {}): readonly ScrapedShard[] {
  const numbers = { ...HELD, ...changed };
  return Array.from({ length: count }, (_, at) => ({
    shard: `shard-${at}-of-${count}`,
    layout: `${count} shards`,
    numbers,
  }));
}

function routesOf(count: number): readonly RouteNumbers[] {
  return Array.from({ length: count }, (_, at) => {
    const { numbers } = new RouteCounters(`/v1/payments/number-${at}/*`);
    const many = ({ counts }: RouteNumbers["origin"]): RouteNumbers["origin"] => ({
      counts: counts.map(() => 123_456_789),
      sumMs: 123_456_789_012,
    });
    return {
      ...numbers,
      counts: Object.fromEntries(
        Object.entries(COUNTED_NAMES).map(([what, names]) => [
          what,
          Object.fromEntries(names.map((name) => [name, 123_456_789])),
        ]),
      ),
      origin: many(numbers.origin),
      gateway: many(numbers.gateway),
    };
  });
}

function scrape(shards: readonly ScrapedShard[], routes: number, isByShard = false): readonly MetricFamily[] {
  const all = { totals: routesOf(routes), routes: [], keepRecords: true, isByShard, features: [] };
  return metricFamilies({ shards, gathered: [], unreachable: [], notAsked: NONE_LEFT, ...all });
}

function valuesOf(families: readonly MetricFamily[], name: string): readonly (readonly [object, number])[] {
  const family = families.find((one) => one.name === name);
  return (family?.samples ?? []).map(({ labels, value }) => [labels, value] as const);
}

describe("a scrape", () => {
  it("of 64 shards and 10 routes stays below 100 kB", () => {
    const bytes = (isByShard: boolean): number =>
      new TextEncoder().encode(writeExposition(scrape(shardsOf(64), 10, isByShard))).byteLength;
    expect(bytes(false)).toBeLessThan(100_000);
    expect(bytes(true)).toBeGreaterThan(bytes(false));
  });

  it("adds up what shards hold, and shows the oldest of all", () => {
    const shards = [...shardsOf(2, { unknown: 1, oldestUnknownMs: 5000 }), ...shardsOf(1, { unknown: 3 })];
    const families = scrape(shards, 1);
    expect(valuesOf(families, "onceway_records")).toContainEqual([{ state: "unknown" }, 5]);
    expect(valuesOf(families, "onceway_oldest_unknown_seconds")).toEqual([[{}, 1234.567]]);
    expect(valuesOf(families, "onceway_calls_in_flight")).toEqual([[{}, 120]]);
  });

  it("has a series for each shard where an alert names it, and of all gauges if asked to", () => {
    const names = ["onceway_oldest_attempt_seconds", "onceway_alarm_lag_seconds", "onceway_shard_size_bytes"];
    for (const name of names) expect(valuesOf(scrape(shardsOf(3), 1), name)).toHaveLength(3);
    expect(valuesOf(scrape(shardsOf(3), 1, true), "onceway_records")).toHaveLength(12);
    expect(valuesOf(scrape(shardsOf(3), 1, true), "onceway_oldest_unknown_seconds")).toHaveLength(3);
  });

  it("of large layouts has one series for all of their shards, and names those that do not answer", () => {
    const { isUnwritten: _isUnwritten, features: _features, routes: _routes, since: _since, ...held } = HELD;
    const together = { ...held, objects: 500, unwritten: 2, largestBytes: 9 };
    const gathered = Array.from({ length: 128 }, (_, at) => ({
      layout: "65536",
      together: [{ ...together, overdueMs: at * 1000 }],
      features: {},
      counters: [],
    }));
    const unreachable = Array.from({ length: 4096 }, (_, at) => ({ shard: `shard-${at}-of-65536`, layout: "65536" }));
    const families = metricFamilies({
      shards: [],
      gathered,
      unreachable,
      notAsked: { earlier: 60_000, missing: 5, oldestAnswerAt: new Date(Date.now() - 90_000).toISOString() },
      totals: routesOf(10),
      routes: [],
      keepRecords: true,
      isByShard: true,
      features: [],
    });
    expect(new TextEncoder().encode(writeExposition(families)).byteLength).toBeLessThan(100_000);
    expect(valuesOf(families, "onceway_alarm_lag_seconds")).toEqual([[{ shard: "one-of-65536" }, 127]]);
    expect(valuesOf(families, "onceway_shard_size_bytes")).toEqual([[{ shard: "one-of-65536" }, 9]]);
    expect(valuesOf(families, "onceway_counts_unwritten")).toEqual([[{ shard: "one-of-65536" }, 256]]);
    expect(valuesOf(families, "onceway_layout_objects")).toContainEqual([{ layout: "65536", state: "open" }, 64_000]);
    expect(valuesOf(families, "onceway_shard_up")).toHaveLength(100);
    expect(valuesOf(families, "onceway_shards_not_asked")).toEqual([
      [{ numbers: "earlier" }, 60_000],
      [{ numbers: "missing" }, 5],
    ]);
    const [[, ageSeconds] = []] = valuesOf(families, "onceway_oldest_answer_seconds");
    expect(ageSeconds).toBeGreaterThanOrEqual(90);
  });

  it("shows no sum when no shard has answered", () => {
    expect(valuesOf(scrape([], 1), "onceway_records")).toEqual([]);
  });
});
