// What is counted in some time: pure counting, what other versions have stored, and which of two states is the later one.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOUNDS_MS, Histogram, quantileMs } from "../../../../src/kernel/traffic/histogram.ts";
import { MAX_RECORDS, ReplayCounts } from "../../../../src/kernel/traffic/replay-counts.ts";
import { laterOf, type RouteNumbers } from "../../../../src/kernel/traffic/route-counters.ts";
import { TrafficTally } from "../../../../src/kernel/traffic/tally.ts";
import { type ExchangeReport, TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";

const REPORT: ExchangeReport = {
  at: 1000,
  route: "/pay",
  recordId: "ab".repeat(32),
  outcome: "first",
  status: 201,
  attempt: 1,
  durationMs: 60,
  originMs: 40,
  waitedMs: 0,
};
const REPLAY: ExchangeReport = { ...REPORT, outcome: "replay", originMs: null, durationMs: 2 };

describe("a tally", () => {
  it("has outcomes and times by route, and replays by record", () => {
    const tally = new TrafficTally();
    tally.exchange(REPORT, 1000);
    tally.exchange(REPLAY, 2000);
    tally.exchange(REPLAY, 3000);
    tally.count("/open", "requests", "passed-through");
    expect(tally.routes).toMatchObject([
      { route: "/pay", counts: { requests: { first: 1, replay: 2 } }, origin: { sumMs: 40 }, gateway: { sumMs: 24 } },
      { route: "/open", counts: { requests: { "passed-through": 1 } } },
    ]);
    expect(tally.replays).toEqual([{ record: "ab".repeat(20), count: 2, lastAt: 3000 }]);
  });

  it("includes those that isolates hand over", () => {
    const isolate = new TrafficCounters();
    isolate.exchange(REPLAY, 5000);
    const tally = new TrafficTally();
    tally.add(isolate.take());
    expect(tally.routes).toMatchObject([{ route: "/pay", counts: { requests: { replay: 1 } } }]);
    expect(tally.replays).toMatchObject([{ count: 1, lastAt: 5000 }]);
    expect(isolate.isEmpty).toBe(true);
  });

  it("adds up with stored ones, also of a version with other bounds and outcomes, whose counts it keeps", () => {
    const tally = new TrafficTally();
    tally.exchange(REPORT, 1000);
    const old = { counts: [1, 2], sumMs: 3 };
    const counts = { requests: { first: 2, gone: 5 } };
    tally.add({ routes: [{ route: "/pay", counts, origin: old, gateway: old }], replays: [] });
    expect(tally.routes).toMatchObject([{ counts: { requests: { first: 3, gone: 5 } }, origin: { sumMs: 40 } }]);
  });

  it("leaves out the records that were replayed longest ago when there are too many", () => {
    const replays = new ReplayCounts();
    for (let at = 0; at <= MAX_RECORDS; at += 1)
      replays.exchange({ ...REPLAY, recordId: `${at}-`.padEnd(64, "0") }, at);
    expect(replays.all).toHaveLength(MAX_RECORDS);
    expect(replays.all[0]?.lastAt).toBe(1);
  });
});

describe("a quantile", () => {
  it("is the upper bound of the bin in which it lies", () => {
    const times = new Histogram();
    expect(quantileMs(times.counts, 0.5)).toBeNull();
    for (const ms of [1, 30, 30, 30, 90_000]) times.observe(ms);
    expect(quantileMs(times.counts, 0.5)).toBe(50);
    expect(quantileMs(times.counts, 1)).toBe(BOUNDS_MS.at(-1));
  });
});

describe("the later of two states of the same numbers", () => {
  const statesOf = (exchanges: readonly boolean[]): readonly (readonly RouteNumbers[])[] => {
    const tally = new TrafficTally();
    return exchanges.map((isReplay) => {
      tally.exchange(isReplay ? REPLAY : { ...REPORT, route: "/other" }, 1000);
      return tally.routes;
    });
  };

  it("is found whichever comes first", () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        fc.nat(),
        (exchanges, one, other) => {
          const states = statesOf(exchanges);
          const [first, second] = [one % states.length, other % states.length];
          const later = states[Math.max(first, second)] ?? [];
          const found = laterOf(states[first] ?? [], states[second] ?? []);
          expect(found.toSorted((a, b) => a.route.localeCompare(b.route))).toEqual(
            later.toSorted((a, b) => a.route.localeCompare(b.route)),
          );
        },
      ),
    );
  });
});
