// The faults of counts that the rules of G13 have to find.

import { describe, expect, it, vi } from "vitest";
import { KeptCounts } from "../../../src/kernel/object/kept-counts.ts";
import { ShardTraffic } from "../../../src/kernel/object/shard-traffic.ts";
import { ShardTotals } from "../../../src/kernel/object/totals.ts";
import { CountRows } from "../../../src/kernel/store/counts.ts";
import { KnownRows } from "../../../src/kernel/store/known-rows.ts";
import { addedUp } from "../../../src/kernel/traffic/route-counters.ts";
import { original } from "../plant.ts";
import { inFakeTime, violation } from "./explore.ts";

inFakeTime();

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
