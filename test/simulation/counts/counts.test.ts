// What operators are shown is so (G13), for counts: interleavings of exchanges, crashes, evictions, lost answers and scrapes. And the
// faults that these rules have to find.

import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeptCounts } from "../../../src/kernel/object/kept-counts.ts";
import { ShardTraffic } from "../../../src/kernel/object/shard-traffic.ts";
import { CountRows } from "../../../src/kernel/store/counts.ts";
import { KnownRows } from "../../../src/kernel/store/known-rows.ts";
import { ShardTotals } from "../../../src/kernel/object/totals.ts";
import { addedUp, RouteCounters, type RouteNumbers, sumOf } from "../../../src/kernel/traffic/route-counters.ts";
import { Disk } from "../disk.ts";
import { original } from "../plant.ts";
import { storageOn } from "../stand-ins.ts";
import { type CountStep, CountedWorld } from "./world.ts";

const NOW = 1_800_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  vi.spyOn(console, "error").mockReturnValue();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const object = fc.nat({ max: 2 });
const step: fc.Arbitrary<CountStep> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("exchange"), object, times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("fact"), object, isLost: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("isolate"),
      times: fc.nat({ max: 3 }),
      isUrgent: fc.boolean(),
      isAnswerLost: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("wait"),
      ms: fc.oneof(fc.nat({ max: 6000 }), fc.constantFrom(400, 1000, 3000), fc.constantFrom(3_600_000, 26 * 3_600_000)),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom("crash", "crash", "evict"), object }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom("lose-disk", "lose-disk", "fail"), object }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("scrape"), silent: fc.option(fc.nat({ max: 1 })) }) },
);

/** The violation that so many interleavings find; `null`: none. */
async function violation(runs: number): Promise<string | null> {
  const property = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
    vi.setSystemTime(NOW);
    const world = new CountedWorld();
    for (const one of steps) await world.run(one);
    await world.end();
    vi.clearAllTimers();
  });
  const { failed, errorInstance, counterexample } = await fc.check(property, { numRuns: runs, seed: 20 });
  return failed ? `${String(errorInstance)} ${JSON.stringify(counterexample)}` : null;
}

it("totals are exact, never fall, and lose only what a crash takes of the last seconds", async () => {
  expect(await violation(300)).toBeNull();
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

describe("the rules find", () => {
  it("counts that are told before they are written", async () => {
    vi.spyOn(KeptCounts.prototype, "total").mockImplementation(function unwritten(this: KeptCounts) {
      return this.tallyAt(Date.now()).routes;
    });
    expect(await violation(300)).toMatch(/G13: the total (falls|is)/);
  });

  it("counts that are never written while nobody asks", async () => {
    vi.spyOn(KeptCounts.prototype, "counted").mockReturnValue();
    expect(await violation(300)).toMatch(/G13/);
  });

  it("an object that vanishes while it cannot write", async () => {
    const numbers = original(ShardTraffic.prototype, "numbers");
    vi.spyOn(ShardTraffic.prototype, "numbers").mockImplementation(function silent(this: ShardTraffic) {
      const all = numbers.call(this);
      if (this.isUnwritten) throw new Error("the counts could not be written");
      return all;
    });
    expect(await violation(300)).toMatch(/G13: shard-\d-of-2 vanishes/);
  });

  it("counts of a quiet object that wait as long as those of a busy one", async () => {
    const counted = original(KeptCounts.prototype, "counted");
    vi.spyOn(KeptCounts.prototype, "counted").mockImplementation(function slow(this: KeptCounts, when) {
      counted.call(this, when === "soon" ? "more-comes" : when);
    });
    expect(await violation(300)).toMatch(/G13: a crash has lost \d+ exchanges, and only 0/);
  });

  it("a fact that is written later than what it counts", async () => {
    const counted = original(KeptCounts.prototype, "counted");
    vi.spyOn(KeptCounts.prototype, "counted").mockImplementation(function late(this: KeptCounts) {
      counted.call(this, "soon");
    });
    expect(await violation(300)).toMatch(/G13: \d+ of \d+ facts/);
  });

  it("a batch that counts each time that it comes", async () => {
    vi.spyOn(KeptCounts.prototype, "takes").mockReturnValue(true);
    expect(await violation(300)).toMatch(/G13/);
  });

  it("a batch that is acknowledged before it is durable", async () => {
    vi.spyOn(KeptCounts.prototype, "written").mockResolvedValue();
    expect(await violation(300)).toMatch(/G13/);
  });

  it("a sum over those that answer", async () => {
    vi.spyOn(ShardTotals.prototype, "addUp").mockImplementation((reported) =>
      addedUp(reported.flatMap(({ routes }) => routes)),
    );
    expect(await violation(300)).toMatch(/G13: the total (falls|is)/);
  });

  it("totals that are only remembered", async () => {
    vi.spyOn(KnownRows.prototype, "put").mockReturnValue();
    expect(await violation(300)).toMatch(/G13: the total (falls|is)/);
  });

  it("old hours that are erased instead of added up", async () => {
    vi.spyOn(CountRows.prototype, "routesBut").mockReturnValue([]);
    expect(await violation(300)).toMatch(/G13: the total (falls|is)/);
  });

  it("an object that begins anew and is taken for the one before", async () => {
    const numbers = original(ShardTraffic.prototype, "numbers");
    vi.spyOn(ShardTraffic.prototype, "numbers").mockImplementation(function ageless(this: ShardTraffic) {
      return { ...numbers.call(this), since: 0 };
    });
    expect(await violation(300)).toMatch(/G13: the total is/);
  });
});
