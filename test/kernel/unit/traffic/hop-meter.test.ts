// Which requests are measured, and what becomes of what was measured.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { hopTimingValue } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { HopMeter } from "../../../../src/kernel/traffic/hop-meter.ts";
import { addedUp, laterOf, RouteCounters, type RouteNumbers } from "../../../../src/kernel/traffic/route-counters.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const PLAIN = { route: "/a", serverTiming: false };

it("one request of a route in a second is measured, and each with server_timing", () => {
  const meter = new HopMeter();
  const isMeasured = (route: string, serverTiming = false): boolean => meter.begin({ route, serverTiming }) !== null;
  expect([isMeasured("/a"), isMeasured("/a"), isMeasured("/b"), isMeasured("/b")]).toEqual([true, false, true, false]);
  expect([isMeasured("/a", true), isMeasured("/a", true)]).toEqual([true, true]);
  vi.advanceTimersByTime(999);
  expect(isMeasured("/a")).toBe(false);
  vi.advanceTimersByTime(1);
  expect([isMeasured("/a"), isMeasured("/a")]).toEqual([true, false]);
});

it("the way is the call less the object's own time, never below 0, and is handed over once", () => {
  const meter = new HopMeter();
  const timer = meter.begin(PLAIN) ?? { sentMs: null };
  timer.sentMs = performance.now();
  vi.advanceTimersByTime(100);
  expect(meter.end(timer, "/a", 12)).toBe(88);
  expect(meter.end(timer, "/a", 112)).toBe(0);
  expect(meter.take()).toEqual([
    { route: "/a", ms: 88 },
    { route: "/a", ms: 0 },
  ]);
  expect(meter.take()).toEqual([]);
});

it("is not known of a body that was streamed, nor of an object that does not say how long it worked", () => {
  const meter = new HopMeter();
  expect(meter.end({ sentMs: null }, "/a", 12)).toBeNull();
  expect(meter.end({ sentMs: 0 }, "/a", undefined)).toBeNull();
  expect(meter.take()).toEqual([]);
});

it("an isolate that calls no object any more keeps few", () => {
  const meter = new HopMeter();
  for (let time = 0; time < 100; time += 1) meter.end({ sentMs: 0 }, "/a", 0);
  expect(meter.take()).toHaveLength(16);
});

it("says the way in whole milliseconds, and the place as far as it is known", () => {
  expect(hopTimingValue(87.6, "IAD")).toBe('hop;dur=88, shard;desc="IAD"');
  expect(hopTimingValue(0.2, undefined)).toBe("hop;dur=0");
  expect(hopTimingValue(1, '?",x;desc="y')).toBe('hop;dur=1, shard;desc="?xdescy"');
});

function numbersOf(...hops: readonly number[]): RouteNumbers {
  const counters = new RouteCounters("/a");
  for (const ms of hops) counters.hop(ms);
  return counters.numbers;
}

it("is added up with others, and a route that was never measured has none", () => {
  expect(numbersOf().hop).toBeUndefined();
  const count = (all: readonly RouteNumbers[]) => all.map(({ hop }) => hop?.counts.reduce((sum, one) => sum + one, 0));
  expect(count(addedUp([numbersOf(1, 88), numbersOf(), numbersOf(3)]))).toEqual([3]);
  expect(count(laterOf([numbersOf(1)], [numbersOf(1, 88)]))).toEqual([2]);
  expect(count(laterOf([numbersOf()], [numbersOf(1)]))).toEqual([1]);
  expect(count(laterOf([numbersOf()], [numbersOf()]))).toEqual([undefined]);
  expect(numbersOf(88).hop?.sumMs).toBe(88);
});
