import { describe, expect, it } from "vitest";
import { isLong } from "../../support/long.ts";
import { exploreLayouts, replayLayouts } from "./interleaving.ts";

/** Enough for every kind of step and fault to occur; `npm run simulate -- --layouts` runs a million. */
const INTERLEAVINGS = isLong ? 6_000 : 1_500;

describe("the simulation of layouts", () => {
  it("breaks no guarantee in any order of steps while deployments of several layouts run side by side", async () => {
    const { interleavings, distinct, steps, counts, broken } = await exploreLayouts(INTERLEAVINGS, 1);
    // `npm run simulate -- --layouts --only SEED` shows the steps of one interleaving.
    expect(broken.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
    expect(interleavings).toBe(INTERLEAVINGS);
    expect(distinct).toBeGreaterThan(0.99 * INTERLEAVINGS);
    expect(steps).toBeGreaterThan(20 * INTERLEAVINGS);
    for (const count of counts.values()) expect(count).toBeGreaterThan(isLong ? 20 : 0);
  }, 120_000);

  it("takes the same steps again from the same seed", async () => {
    const traces = [1, 2].map(() => [] as string[]);
    for (const trace of traces) {
      for (let seed = 0; seed < 30; seed += 1) await replayLayouts(seed, (what) => trace.push(what));
    }
    expect(traces[0]?.length).toBeGreaterThan(1000);
    expect(traces[0]).toEqual(traces[1]);
  });
});
