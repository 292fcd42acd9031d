// The counters alone: sums, minutes, the ring of exchanges, and what an isolate hands over.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OUTCOMES, type Outcome } from "../../../src/core/outcome.ts";
import { BOUNDS_MS, Histogram } from "../../../src/traffic/histogram.ts";
import { type ExchangeReport, Traffic } from "../../../src/traffic/traffic.ts";

const MINUTE_MS = 60_000;
const NOW = 1_800_000_000_000;

function report(changes: Partial<ExchangeReport> = {}): ExchangeReport {
  const times = { durationMs: 30, originMs: 20, waitedMs: 0 };
  return { at: NOW, route: "/a", recordId: null, outcome: "first", status: 201, attempt: 1, ...times, ...changes };
}

function countOf(traffic: Traffic, outcome: Outcome, now: number): readonly number[] {
  return traffic.outcomes(now).find((one) => one.outcome === outcome)?.perMinute ?? [];
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
});

describe("Traffic", () => {
  it("subtracts the time of the origin and of waiting from the gateway's time, never below zero", () => {
    const traffic = new Traffic();
    traffic.exchange(report({ durationMs: 130, originMs: 20, waitedMs: 100 }), NOW);
    traffic.exchange(report({ durationMs: 1, originMs: 2 }), NOW);
    expect(traffic.numbers[0]?.gateway.sumMs).toBe(10);
    expect(traffic.numbers[0]?.origin.sumMs).toBe(22);
  });

  it("counts no latency for an origin to which nothing was sent", () => {
    const traffic = new Traffic();
    traffic.exchange(report({ outcome: "origin-unreachable" }), NOW);
    expect(traffic.numbers[0]?.origin.sumMs).toBe(0);
  });

  it("has the present minute last, and drops what is an hour old", () => {
    const traffic = new Traffic();
    traffic.exchange(report(), NOW);
    traffic.exchange(report(), NOW + MINUTE_MS);
    traffic.exchange(report(), NOW + MINUTE_MS);
    expect(countOf(traffic, "first", NOW + MINUTE_MS).slice(-2)).toEqual([1, 2]);
    expect(countOf(traffic, "first", NOW + 59 * MINUTE_MS).slice(0, 2)).toEqual([1, 2]);
    expect(countOf(traffic, "first", NOW + 61 * MINUTE_MS).every((count) => count === 0)).toBe(true);
    expect(traffic.outcomes(NOW + 61 * MINUTE_MS)).toMatchObject([{ route: "/a", outcome: "first", count: 3 }]);
  });

  it("agrees with a plain list of events, minute by minute, whatever the steps of the clock", () => {
    const step = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 55, max: 65 }));
    const exchange = fc.record({ minutes: step, outcome: fc.constantFrom(...OUTCOMES) });
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 40 }), (exchanges) => {
        const traffic = new Traffic();
        let now = NOW;
        const came: { readonly outcome: Outcome; readonly minute: number }[] = [];
        for (const { minutes, outcome } of exchanges) {
          now += minutes * MINUTE_MS;
          traffic.exchange(report({ outcome }), now);
          came.push({ outcome, minute: Math.floor(now / MINUTE_MS) });
        }
        for (const { outcome, count, perMinute } of traffic.outcomes(now)) {
          const own = came.filter((one) => one.outcome === outcome);
          expect(count).toBe(own.length);
          const last = Math.floor(now / MINUTE_MS);
          expect(perMinute).toEqual(
            Array.from({ length: 60 }, (_, at) => own.filter(({ minute }) => minute === last - 59 + at).length),
          );
        }
      }),
    );
  });

  it("hands over everything once, unchanged", () => {
    const isolate = new Traffic();
    isolate.exchange(report({ outcome: "replay", originMs: null }), NOW);
    isolate.passed("/a", NOW);
    isolate.attempt("/b", 1);
    isolate.verdict("/b", "lost");
    isolate.asked("/c", "here");
    isolate.moved("/d");
    const before = isolate.numbers;
    const shard = new Traffic();
    shard.add(JSON.parse(JSON.stringify(isolate.take())), NOW);
    expect(shard.numbers).toEqual(before);
    expect(shard.recent(-1, NOW)).toEqual([report({ outcome: "replay", originMs: null })]);
    expect(isolate.isEmpty).toBe(true);
    expect(isolate.recent(-1, NOW)).toEqual([]);
  });

  it("hands over what it has counted since, also if that is only a question or a request that moved", () => {
    const traffic = new Traffic();
    traffic.asked("/a", "failed");
    traffic.moved("/b");
    expect(traffic.takeNew()).toMatchObject([
      { route: "/a", asks: [0, 0, 1], moved: 0 },
      { route: "/b", asks: [0, 0, 0], moved: 1 },
    ]);
    expect(traffic.takeNew()).toEqual([]);
  });

  it("adds counts of code that knows no layouts", () => {
    const traffic = new Traffic();
    traffic.attempt("/a", 1);
    const routes = traffic.numbers.map(({ asks: _asks, moved: _moved, ...older }) => older);
    traffic.add({ routes, exchanges: [] }, NOW);
    expect(traffic.numbers).toMatchObject([{ attempts: [2, 0], asks: [0, 0, 0], moved: 0 }]);
  });

  it("remembers the last hundred exchanges in order, between two times", () => {
    const traffic = new Traffic();
    for (let number = 0; number < 130; number += 1) traffic.exchange(report({ at: number }), NOW + number);
    expect(traffic.recent(-1, Number.POSITIVE_INFINITY).map(({ at }) => at)).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 30),
    );
    expect(traffic.recent(NOW + 120, NOW + 123).map(({ at }) => at)).toEqual([121, 122, 123]);
  });

  it("misses none when the clock goes back", () => {
    const traffic = new Traffic();
    traffic.exchange(report({ at: 1 }), NOW);
    traffic.exchange(report({ at: 2 }), NOW - 5000);
    expect(traffic.recent(NOW - 1, NOW).map(({ at }) => at)).toEqual([1, 2]);
  });
});
