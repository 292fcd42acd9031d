// Forgetting goes on where each object has stopped, and no request calls more objects than the platform lets it.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { eraseScope } from "../../../../src/features/callers/operator/erase-scope.ts";
import type { ErasedSlice, ErasurePosition } from "../../../../src/features/callers/object/eraser.ts";
import { MAX_CALLS } from "../../../../src/operator/asking-plan.ts";
import type { LayoutShardAddress } from "../../../../src/operator/shards.ts";

const ADDRESSES = Array.from({ length: 40 }, (_, index): LayoutShardAddress => {
  return { name: `shard-${index}-of-40`, jurisdiction: null, locationHint: null, layout: "40" };
});
const ERASING = { isPreview: false, includesUnknown: false, by: "anna", reason: "", scopes: [], scopeDigests: [] };
const SLICE = { forgotten: 1, inFlight: 0, unknown: 0, events: 0, isNothing: false };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** Calls until all is done; how often, and which object was asked from where. */
async function eraseAll(ask: (from: ErasurePosition) => ErasedSlice) {
  const asked: (readonly [name: string, from: ErasurePosition])[] = [];
  const most: number[] = [];
  for (let cursor: string | null = null, calls = 0; calls === 0 || cursor !== null; calls += 1) {
    const before = asked.length;
    const erased = await eraseScope(ADDRESSES, ERASING, cursor, async ({ name }, { from }) => {
      asked.push([name, from]);
      return ask(from);
    });
    if (erased === null) throw new Error(`the cursor ${cursor} was refused`);
    most.push(asked.length - before);
    ({ cursor } = erased);
  }
  return { asked, most };
}

it("asks each object again from the place and with the look that it has said", async () => {
  const places = [
    { expiryBucket: 7, slot: 3, isFirstLook: true },
    { expiryBucket: 8, slot: 0, isFirstLook: false },
  ];
  const { asked } = await eraseAll((from) => {
    // Each answer takes as long as a request may.
    vi.setSystemTime(Date.now() + 5000);
    const seen = places.findIndex(({ expiryBucket }) => expiryBucket === from.expiryBucket);
    return { ...SLICE, next: places[seen + 1] ?? null };
  });
  for (const { name } of ADDRESSES) {
    const [, ...later] = asked.filter(([one]) => one === name).map(([, from]) => from);
    expect(later).toEqual(places);
  }
});

it("makes as many calls as one request may, and no more", async () => {
  let left = 2000;
  const { most } = await eraseAll((from) => {
    left -= 1;
    return { ...SLICE, next: left > 0 ? { ...from, slot: from.slot + 1 } : null };
  });
  expect(most.slice(0, 2)).toEqual([MAX_CALLS - 20, MAX_CALLS - 20]);
  expect(Math.max(...most)).toBe(MAX_CALLS - 20);
});

it("takes no cursor of other objects, and none that it has not written", async () => {
  const { cursor = null } =
    (await eraseScope(ADDRESSES, ERASING, null, async (_address, { from }) => ({ ...SLICE, next: from }))) ?? {};
  expect(cursor).not.toBeNull();
  const refused = [[ADDRESSES.slice(1), cursor] as const, [ADDRESSES, `${cursor}x`] as const];
  for (const [addresses, written] of refused) {
    expect(await eraseScope(addresses, ERASING, written, () => Promise.reject(new Error("asked")))).toBeNull();
  }
});
