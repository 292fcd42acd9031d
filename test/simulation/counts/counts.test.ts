// What operators are shown is so (G13), for counts.

import { expect, it } from "vitest";
import { ShardTotals } from "../../../src/kernel/object/totals.ts";
import { KnownRows } from "../../../src/kernel/store/known-rows.ts";
import { RouteCounters, type RouteNumbers, sumOf } from "../../../src/kernel/traffic/route-counters.ts";
import { isLong } from "../../support/long.ts";
import { Disk } from "../disk.ts";
import { storageOn } from "../stand-ins.ts";
import { inFakeTime, NOW, violation } from "./explore.ts";

inFakeTime();

it("totals are exact, never fall, and lose only what a crash takes of the last seconds", async () => {
  expect(await violation(isLong ? 300 : 60)).toBeNull();
});

it("an object that began by a clock that was ahead, and has lost its database, is counted on", () => {
  const { sql } = storageOn(
    new Disk(),
    () => true,
    () => undefined,
  );
  const totals = new ShardTotals(new KnownRows(sql, "totals"));
  const reported = (since: number, times: number, now: number): readonly RouteNumbers[] => {
    const counters = new RouteCounters("/own");
    counters.count("requests", "first", times);
    return totals.addUp([{ shard: "shard-0-of-1", since, routes: [counters.numbers] }], now);
  };
  const sum = (all: readonly RouteNumbers[]): number =>
    all.reduce((one, numbers) => one + sumOf(numbers, "requests"), 0);
  expect(sum(reported(NOW + 72 * 3_600_000, 5, NOW))).toBe(5);
  expect(sum(reported(NOW + 1, 2, NOW + 2))).toBe(7);
  // An answer from before another loss that has taken long, and one of an object that has counted nothing yet.
  expect(sum(reported(NOW, 4, NOW + 2))).toBe(7);
  expect(sum(reported(0, 0, NOW + 2))).toBe(7);
});
