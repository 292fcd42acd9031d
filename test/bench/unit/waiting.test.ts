// How calls of a shard wait for each other: Erlang's formula against values known by hand and against a simulated queue.

import { expect, it } from "vitest";
import { ENOUGH, erlangC, shardsNeeded, waiting } from "../cost/waiting.ts";
import { CALLS_AT_ONCE } from "../cost/prices.ts";
import { Random } from "../../simulation/random.ts";

it.each([
  [1, 0.3, 0.3],
  [2, 1, 1 / 3],
  [2, 1.5, 9 / 14],
  [6, 0, 0],
])(
  "with %d servers and %d of them busy on average, a call waits with the known probability",
  (servers, load, share) => {
    expect(erlangC(servers, load)).toBeCloseTo(share, 12);
  },
);

/** Calls that come and last at random, one after the other, in the order in which they come. */
function simulate(perSecond: number, seconds: number, calls: number): { share: number; meanMs: number } {
  const random = new Random(6);
  const exponential = (mean: number): number => -Math.log((random.below(2 ** 32) + 1) / 2 ** 32) * mean;
  const freeAt = Array.from({ length: CALLS_AT_ONCE }, () => 0);
  let now = 0;
  let waited = 0;
  let total = 0;
  for (let call = 0; call < calls; call += 1) {
    now += exponential(1 / perSecond);
    const earliest = Math.min(...freeAt);
    const start = Math.max(now, earliest);
    freeAt[freeAt.indexOf(earliest)] = start + exponential(seconds);
    if (start > now) waited += 1;
    total += start - now;
  }
  return { share: waited / calls, meanMs: (total / calls) * 1000 };
}

it.each([0.4, ENOUGH.calls, 0.8])("a simulated shard at %d of its calls waits as computed", (used) => {
  const callsAtOnce = CALLS_AT_ONCE * used;
  const computed = waiting(callsAtOnce, 300);
  const simulated = simulate(callsAtOnce / 0.3, 0.3, 400_000);
  expect(simulated.share / computed.share).toBeCloseTo(1, 1);
  expect(simulated.meanMs / (computed.meanMs ?? 0)).toBeCloseTo(1, 1);
});

it("with as many calls as the platform takes at once, all wait, longer and longer", () => {
  expect(waiting(CALLS_AT_ONCE, 300)).toEqual({ share: 1, meanMs: null });
  // What a number of shards is enough for: one in five waits.
  expect(waiting(CALLS_AT_ONCE * ENOUGH.calls, 300).share).toBeCloseTo(0.2, 2);
});

it.each([
  [768, 0.3, 64],
  [769, 0.3, 65],
  [1, 0.1, 1],
  [0, 2, 1],
  [1000, 2, 556],
])("a peak of %d a second at an origin of %d s needs %d shards", (peak, seconds, shards) => {
  expect(shardsNeeded(peak, seconds)).toBe(shards);
});
