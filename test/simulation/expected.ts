// What every exploration must show, and that a seed repeats an interleaving.

import { expect } from "vitest";
import { isLong } from "../support/long.ts";
import type { Exploration } from "./explore.ts";

/** Enough for every kind of step and fault to occur; `npm run simulate` runs a million. */
export const INTERLEAVINGS = isLong ? 6_000 : 600;

/** `npm run simulate -- --only SEED` shows the steps of one interleaving. */
export function expectUnbroken({ interleavings, distinct, steps, counts, broken }: Exploration): void {
  expect(broken.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
  expect(interleavings).toBe(INTERLEAVINGS);
  expect(distinct).toBeGreaterThan(0.99 * INTERLEAVINGS);
  expect(steps).toBeGreaterThan(20 * INTERLEAVINGS);
  for (const count of counts.values()) expect(count).toBeGreaterThan(isLong ? 20 : 0);
}

export async function expectRepeatable(
  replay: (seed: number, trace: (what: string) => void) => Promise<unknown>,
  seeds: number,
): Promise<void> {
  const traces = [1, 2].map(() => [] as string[]);
  for (const trace of traces) {
    for (let seed = 0; seed < seeds; seed += 1) await replay(seed, (what) => trace.push(what));
  }
  expect(traces[0]?.length).toBeGreaterThan(500);
  expect(traces[0]).toEqual(traces[1]);
}
