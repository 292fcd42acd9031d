// The position of a partition against what it means: sets of offsets that are open and that were completed.

import fc from "fast-check";
import { expect, it } from "vitest";
import { afterCompletion, joinedPosition, nextPosition, type StoredPosition } from "../../src/core/position.ts";

const moves = fc.array(
  fc.record({ kind: fc.constantFrom("claim", "claim", "complete", "complete", "give up"), offset: fc.nat(12) }),
  { maxLength: 60, size: "max" },
);

const lowestOf = (open: ReadonlySet<number>): number | null => (open.size === 0 ? null : Math.min(...open));

it("never goes back, never passes what is open, and is past all that is completed once nothing is open", () => {
  fc.assert(
    fc.property(moves, (list) => {
      const open = new Set<number>();
      const completed = new Set<number>();
      let stored: StoredPosition | null = null;
      /** Open offsets below the position when they were claimed: messages that were read again. */
      const behind = new Set<number>();
      for (const { kind, offset } of list) {
        const before: number | null = nextPosition(stored, lowestOf(open));
        if (kind === "claim" && !completed.has(offset)) {
          open.add(offset);
          if (stored !== null && offset < stored.next) behind.add(offset);
        } else if (kind === "give up") open.delete(offset);
        else if (kind === "complete" && open.has(offset)) {
          open.delete(offset);
          completed.add(offset);
          stored = afterCompletion(stored, offset, lowestOf(open));
        }
        if (stored === null) continue;
        const next = nextPosition(stored, lowestOf(open)) ?? Number.NaN;
        if (kind !== "claim" && before !== null) expect(next).toBeGreaterThanOrEqual(Math.min(before, stored.next));
        expect(next).toBeGreaterThanOrEqual(stored.next);
        for (const one of open) if (!behind.has(one)) expect(next).toBeLessThanOrEqual(one);
        if (open.size === 0) expect(next).toBe(Math.max(...completed) + 1);
        expect(next).toBeLessThanOrEqual(Math.max(...completed) + 1);
      }
    }),
    { numRuns: 1500 },
  );
});

it("does not skip 5 when 7 is completed before it", () => {
  const at7 = afterCompletion(null, 7, 5);
  expect(at7).toEqual({ next: 5, done: 8 });
  const at5 = afterCompletion(at7, 5, 6);
  expect(at5).toEqual({ next: 6, done: 8 });
  expect(afterCompletion(at5, 6, null)).toEqual({ next: 8, done: 8 });
});

it("does not skip what may not have been claimed yet", () => {
  expect(afterCompletion({ next: 6, done: 6 }, 6, 10)).toEqual({ next: 7, done: 7 });
});

it("is never past what an object of an older layout has open", () => {
  const part = (next: number | null, hasOpen: boolean) => ({ next, hasOpen });
  expect(joinedPosition([part(null, false), part(null, false)])).toBeNull();
  expect(joinedPosition([part(20, false), part(5, true)])).toBe(5);
  expect(joinedPosition([part(20, false), part(9, false)])).toBe(20);
  expect(joinedPosition([part(20, true), part(9, false)])).toBe(20);
});
