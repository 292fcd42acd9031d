import { describe, expect, it } from "vitest";
import {
  add,
  alarmsPerFirst,
  countingUsage,
  alarmUsage,
  dollarsPerMillion,
  exchangesAtOnce,
  NO_USAGE,
  shareOfSeconds,
  usageOf,
} from "../cost/cost.ts";

const counts = {
  statements: 4,
  rowsRead: 20,
  rowsWritten: 2,
  alarmsSet: 1,
  syncs: 0,
  objectCalls: 1,
  originCalls: 1,
};

describe("dollars per million", () => {
  it("are the sum of requests, rows and duration", () => {
    // 0.30 + 0.15; 3 rows written and 20 read; 0.1 s of 128 MB at 12.50 per million GB-s.
    const { requests, rows, duration, total } = dollarsPerMillion(usageOf(counts, 0.1));
    expect(requests).toBeCloseTo(0.45, 10);
    expect(rows).toBeCloseTo(3.02, 10);
    expect(duration).toBeCloseTo(0.16, 10);
    expect(total).toBeCloseTo(3.63, 10);
  });

  it("are zero for nothing, and add up", () => {
    expect(dollarsPerMillion(NO_USAGE).total).toBe(0);
    const usage = usageOf(counts, 1);
    expect(dollarsPerMillion(add(usage, usage)).total).toBeCloseTo(2 * dollarsPerMillion(usage).total, 10);
  });

  it("for an alarm are two rows and a request", () => {
    expect(dollarsPerMillion(alarmUsage(1)).total).toBeCloseTo(2.15, 10);
  });
});

describe("the duration that an exchange pays", () => {
  it("is its own when it is alone, and a share when others overlap", () => {
    expect(shareOfSeconds(0.3, 1)).toBe(0.3);
    expect(shareOfSeconds(0.3, 6)).toBeCloseTo(0.05, 10);
  });

  it("is shared by at least one exchange, and by all that overlap when there are many", () => {
    expect(exchangesAtOnce(0, 64, 0.3)).toBe(1);
    expect(exchangesAtOnce(0.01, 64, 0.3)).toBeCloseTo(1, 3);
    expect(exchangesAtOnce(6400, 64, 1)).toBeCloseTo(100, 6);
  });

  it("makes an object pay for the time in which any exchange runs", () => {
    // 64 a second over 64 shards, 1 s each: an object is idle for e^-1 of the time.
    const perSecond = 1 * shareOfSeconds(1, exchangesAtOnce(64, 64, 1));
    expect(perSecond).toBeCloseTo(1 - Math.exp(-1), 10);
  });
});

describe("counting", () => {
  it("costs nearly a row for each request when they are rare, and hardly any when there are many", () => {
    const rows = (perSecond: number): number => countingUsage(perSecond, 64, 0.1).rowsWritten;
    expect(rows(0)).toBe(1);
    expect(rows(10)).toBeCloseTo(0.977, 3);
    expect(rows(6400)).toBeCloseTo(1 / 501, 10);
  });

  it("keeps an object in memory for a quarter of a second at most, and not at all while it is busy anyway", () => {
    const seconds = (perSecond: number): number => countingUsage(perSecond, 64, 0.1).objectSeconds;
    expect(seconds(0)).toBe(0.25);
    expect(seconds(10)).toBeCloseTo(0.241, 3);
    expect(seconds(6400)).toBeLessThan(1e-5);
  });
});

it("an alarm comes for each first request when they are rare, and for few of them when there are many", () => {
  expect(alarmsPerFirst(0, 64, 40)).toBe(1);
  expect(alarmsPerFirst(64, 64, 40)).toBeCloseTo(1 / 41, 10);
});
