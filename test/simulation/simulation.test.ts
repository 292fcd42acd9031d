import { describe, expect, it } from "vitest";
import { isLong } from "../support/long.ts";
import { explore, replay } from "./explore.ts";
import { BROKEN_EXTRAS, extrasWithout } from "./plan.ts";

/** Enough for every kind of step and fault to occur; `npm run simulate` runs a million. */
const INTERLEAVINGS = isLong ? 6_000 : 1_500;

describe("the simulation", () => {
  it("breaks no guarantee in any order of steps, with faults between any two of them", async () => {
    const { interleavings, distinct, steps, counts, broken } = await explore(
      INTERLEAVINGS,
      1,
      () => undefined,
      extrasWithout(BROKEN_EXTRAS),
    );
    // `npm run simulate -- --only SEED` shows the steps of one interleaving.
    expect(broken.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
    expect(interleavings).toBe(INTERLEAVINGS);
    expect(distinct).toBeGreaterThan(0.99 * INTERLEAVINGS);
    expect(steps).toBeGreaterThan(20 * INTERLEAVINGS);
    for (const count of counts.values()) expect(count).toBeGreaterThan(isLong ? 20 : 0);
  }, 120_000);

  it("takes the same steps again from the same seed", async () => {
    const traces = [1, 2].map(() => [] as string[]);
    for (const trace of traces) {
      for (let seed = 0; seed < 50; seed += 1) await replay(seed, (what) => trace.push(what));
    }
    expect(traces[0]?.length).toBeGreaterThan(1000);
    expect(traces[0]).toEqual(traces[1]);
  });
});
