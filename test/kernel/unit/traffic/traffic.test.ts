// The counters alone: sums, the ring of exchanges, and what an isolate hands over.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOUNDS_MS, Histogram } from "../../../../src/kernel/traffic/histogram.ts";
import { type ExchangeReport, TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";

const NOW = 1_800_000_000_000;

function report(changes: Partial<ExchangeReport> = {}): ExchangeReport {
  const times = { durationMs: 30, originMs: 20, waitedMs: 0 };
  return { at: NOW, route: "/a", recordId: null, outcome: "first", status: 201, attempt: 1, ...times, ...changes };
}

describe("Histogram", () => {
  it("counts a value in the first bin whose bound it does not exceed", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (ms) => {
        const histogram = new Histogram();
        histogram.observe(ms);
        const { counts, sumMs } = histogram.counts;
        const bucket = BOUNDS_MS.findIndex((bound) => ms <= bound);
        expect(counts.indexOf(1)).toBe(bucket === -1 ? BOUNDS_MS.length : bucket);
        expect([counts.reduce((sum, count) => sum + count, 0), sumMs]).toEqual([1, ms]);
      }),
    );
  });

  it("has the bounds that a query of its metrics names", () => {
    expect(BOUNDS_MS).toEqual([1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000]);
  });
});

describe("Traffic", () => {
  it("subtracts the time of the origin and of waiting from the gateway's time, never below zero", () => {
    const traffic = new TrafficCounters();
    traffic.exchange(report({ durationMs: 130, originMs: 20, waitedMs: 100 }), NOW);
    traffic.exchange(report({ durationMs: 1, originMs: 2 }), NOW);
    expect(traffic.numbers[0]?.gateway.sumMs).toBe(10);
    expect(traffic.numbers[0]?.origin.sumMs).toBe(22);
  });

  it("counts no latency for an origin to which nothing was sent", () => {
    const traffic = new TrafficCounters();
    traffic.exchange(report({ outcome: "origin-unreachable" }), NOW);
    expect(traffic.numbers[0]?.origin.sumMs).toBe(0);
  });

  it("hands over everything once, unchanged", () => {
    const isolate = new TrafficCounters();
    isolate.exchange(report({ outcome: "replay", originMs: null }), NOW);
    isolate.passed("/a");
    isolate.attempt("/b", 1);
    isolate.verdict("/b", "lost");
    isolate.elsewhere("/c", "closed");
    const before = isolate.numbers;
    const shard = new TrafficCounters();
    shard.add(JSON.parse(JSON.stringify(isolate.take())), NOW);
    expect(shard.numbers).toEqual(before);
    expect(shard.recent(-1, NOW)).toEqual([report({ outcome: "replay", originMs: null })]);
    expect(isolate.isEmpty).toBe(true);
    expect(isolate.recent(-1, NOW)).toEqual([]);
  });

  it("remembers the last hundred exchanges in order, between two times", () => {
    const traffic = new TrafficCounters();
    for (let number = 0; number < 130; number += 1) traffic.exchange(report({ at: number }), NOW + number);
    expect(traffic.recent(-1, Number.POSITIVE_INFINITY).map(({ at }) => at)).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 30),
    );
    expect(traffic.recent(NOW + 120, NOW + 123).map(({ at }) => at)).toEqual([121, 122, 123]);
  });

  it("misses none when the clock goes back", () => {
    const traffic = new TrafficCounters();
    traffic.exchange(report({ at: 1 }), NOW);
    traffic.exchange(report({ at: 2 }), NOW - 5000);
    expect(traffic.recent(NOW - 1, NOW).map(({ at }) => at)).toEqual([1, 2]);
  });
});
