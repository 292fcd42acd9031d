// Interleavings of what counts: exchanges, crashes, evictions, lost answers and scrapes, in fake time.

import fc from "fast-check";
import { afterEach, beforeEach, vi } from "vitest";
import { type CountStep, CountedWorld } from "./world.ts";

export const NOW = 1_800_000_000_000;

/** For each test of a file. */
export function inFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
    vi.spyOn(console, "error").mockReturnValue();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

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
export async function violation(runs: number): Promise<string | null> {
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
