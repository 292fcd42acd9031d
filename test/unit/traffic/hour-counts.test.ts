// What an object counts by hours: pure counting, and what other versions have stored.

import { describe, expect, it } from "vitest";
import { HourlyCounts } from "../../../src/traffic/hour-counts.ts";
import { BOUNDS_MS, Histogram, quantileMs } from "../../../src/traffic/histogram.ts";
import { MAX_RECORDS, ReplayCounts } from "../../../src/traffic/replay-counts.ts";
import { type ExchangeReport, Traffic } from "../../../src/traffic/traffic.ts";

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

describe("the counts of an hour", () => {
  it("are outcomes and times by route, and replays by record", () => {
    const counts = new HourlyCounts();
    counts.exchange(REPORT, 1000);
    counts.exchange(REPLAY, 2000);
    counts.exchange(REPLAY, 3000);
    counts.passed("/open");
    const { routes, replays } = counts.take();
    expect(routes).toMatchObject([
      { route: "/pay", outcomes: { first: 1, replay: 2 }, origin: { sumMs: 40 }, gateway: { sumMs: 24 } },
      { route: "/open", outcomes: { "passed-through": 1 } },
    ]);
    expect(replays).toEqual([{ record: "ab".repeat(20), count: 2, lastAt: 3000 }]);
    expect(counts.isEmpty).toBe(true);
  });

  it("include those that isolates hand over", () => {
    const replays = new ReplayCounts();
    const isolate = new Traffic(replays);
    isolate.exchange(REPLAY, 5000);
    const counts = new HourlyCounts();
    new Traffic(counts).add({ ...isolate.take(), replays: replays.take() }, 6000);
    expect(counts.counts).toMatchObject({
      routes: [{ route: "/pay", outcomes: { replay: 1 } }],
      replays: [{ count: 1, lastAt: 5000 }],
    });
  });

  it("add up with stored ones, also of a version with other bounds and outcomes", () => {
    const counts = new HourlyCounts();
    counts.exchange(REPORT, 1000);
    const old = { counts: [1, 2], sumMs: 3 };
    const stored = { first: 2, gone: 5 };
    counts.addHour({ routes: [{ route: "/pay", outcomes: stored, origin: old, gateway: old }], replays: [] });
    expect(counts.counts.routes).toMatchObject([{ outcomes: { first: 3 }, origin: { sumMs: 40 } }]);
  });

  it("leave out the records that were replayed longest ago when there are too many", () => {
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
