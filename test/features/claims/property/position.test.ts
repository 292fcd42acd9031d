// The position of a partition against what it means: sets of offsets that are open and that were completed.

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  afterCompletion,
  joinedPosition,
  nextPosition,
  setTo,
  type StoredPosition,
  type OffsetRange,
  withClaim,
} from "../../../../src/kernel/record/position.ts";

const moves = fc.array(
  fc.record({
    kind: fc.constantFrom("claim", "claim", "complete", "complete", "give up", "restart"),
    offset: fc.nat(12),
  }),
  { maxLength: 60, size: "max" },
);

/** What a new instance knows: what is stored, and the claims that are open. */
function reread(
  stored: StoredPosition | null,
  open: ReadonlySet<number>,
  before: (offset: number) => number | null,
): readonly OffsetRange[] {
  const messages = [...open].map((offset) => ({ offset, previous: before(offset) }));
  return messages.reduce<readonly OffsetRange[]>(withClaim, stored?.claimed ?? []);
}

const lowestOf = (open: ReadonlySet<number>): number | null => (open.size === 0 ? null : Math.min(...open));

it("never goes back, never passes what is open, and is past all that is completed once nothing is open", () => {
  fc.assert(
    fc.property(moves, (list) => {
      const open = new Set<number>();
      const completed = new Set<number>();
      let stored: StoredPosition | null = null;
      let claimed: readonly OffsetRange[] = [];
      /** Open offsets below the position when they were claimed: messages that were read again. */
      const behind = new Set<number>();
      for (const { kind, offset } of list) {
        const before: number | null = nextPosition(stored, claimed, lowestOf(open));
        if (kind === "restart") claimed = reread(stored, open, () => null);
        else if (kind === "claim" && !completed.has(offset)) {
          open.add(offset);
          claimed = withClaim(claimed, { offset });
          if (stored !== null && offset < stored.next) behind.add(offset);
        } else if (kind === "give up") open.delete(offset);
        else if (kind === "complete" && open.has(offset)) {
          open.delete(offset);
          completed.add(offset);
          stored = afterCompletion(stored, claimed, offset, lowestOf(open));
        }
        if (stored === null) continue;
        const next = nextPosition(stored, claimed, lowestOf(open)) ?? Number.NaN;
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

it("never passes a message that was never claimed, once the claim of the one after it has named it", () => {
  fc.assert(
    fc.property(moves, (list) => {
      const before = (offset: number): number | null => (offset === 0 ? null : offset - 1);
      const open = new Set<number>([0]);
      const arrived = new Set<number>([0]);
      let claimed = withClaim([], { offset: 0 });
      let stored: StoredPosition | null = null;
      for (const { kind, offset } of list) {
        if (kind === "claim" && !arrived.has(offset)) {
          open.add(offset);
          arrived.add(offset);
          claimed = withClaim(claimed, { offset, previous: before(offset) });
        } else if (kind === "complete" && open.has(offset)) {
          open.delete(offset);
          stored = afterCompletion(stored, claimed, offset, lowestOf(open));
        } else if (kind === "restart") claimed = reread(stored, open, before);
        if (stored === null) continue;
        const next = nextPosition(stored, claimed, lowestOf(open)) ?? Number.NaN;
        let missing = 0;
        while (arrived.has(missing)) missing += 1;
        // Everything below has been claimed, and what is not open has been completed.
        expect(next).toBe(Math.min(missing, lowestOf(open) ?? missing, stored.done));
      }
    }),
    { numRuns: 1500 },
  );
});

const SEVEN = withClaim(withClaim([], { offset: 5 }), { offset: 7 });

it("does not skip 5 when 7 is completed before it", () => {
  const at7 = afterCompletion(null, SEVEN, 7, 5);
  expect(at7).toMatchObject({ next: 5, done: 8 });
  const claimed = withClaim(at7.claimed, { offset: 6 });
  const at5 = afterCompletion(at7, claimed, 5, 6);
  expect(at5).toMatchObject({ next: 6, done: 8 });
  expect(afterCompletion(at5, at5.claimed, 6, null)).toEqual({ next: 8, done: 8, claimed: [] });
});

it("does not skip what may not have been claimed yet", () => {
  const claimed = withClaim(withClaim([], { offset: 6 }), { offset: 10 });
  expect(afterCompletion({ next: 6, done: 6, claimed: [] }, claimed, 6, 10)).toMatchObject({ next: 7, done: 7 });
});

it("waits for the message whose claim was lost, and goes on past all that came after it", () => {
  const lost = withClaim(withClaim([], { offset: 6, previous: 5 }), { offset: 9, previous: 6 });
  const waiting = afterCompletion(afterCompletion(null, lost, 9, 6), lost, 6, null);
  expect(waiting).toMatchObject({ next: 5, done: 10 });
  expect(afterCompletion(waiting, withClaim(waiting.claimed, { offset: 5, previous: 4 }), 5, null).next).toBe(10);
});

it("is not moved by a claim whose consumer has not seen what others read meanwhile", () => {
  const others = withClaim(withClaim([], { offset: 10 }), { offset: 31, previous: 30 });
  const late = withClaim(others, { offset: 40, previous: 10 });
  expect(nextPosition({ next: 10, done: 41 }, late, null)).toBe(11);
});

it("holds no more than a hundred stretches, the lowest", () => {
  const many = Array.from({ length: 300 }, (_, at) => ({ offset: 3 * at + 2, previous: 3 * at + 1 }));
  const claimed = many.toReversed().reduce<readonly OffsetRange[]>(withClaim, []);
  expect([claimed.length, claimed[0]?.first, claimed[99]?.first]).toEqual([100, 2, 299]);
});

it("is where an operator sets it: past a message, with what is known beyond it, or back, with nothing", () => {
  const claimed = withClaim([], { offset: 6, previous: 5 });
  const waiting = { next: 5, done: 7, claimed };
  const past = setTo(6, waiting, claimed);
  expect(nextPosition(past, past.claimed, null)).toBe(7);
  expect(setTo(2, waiting, claimed)).toEqual({ next: 2, done: 2, claimed: [] });
  expect(setTo(50, waiting, claimed)).toEqual({ next: 50, done: 50, claimed: [] });
  expect(setTo(3, null, [])).toEqual({ next: 3, done: 3, claimed: [] });
});

it("is never past what an object of an older layout has open", () => {
  const part = (next: number | null, isHeld: boolean) => ({ next, isHeld });
  expect(joinedPosition([part(null, false), part(null, false)])).toBeNull();
  expect(joinedPosition([part(20, false), part(5, true)])).toBe(5);
  expect(joinedPosition([part(20, false), part(9, false)])).toBe(20);
  expect(joinedPosition([part(20, true), part(9, false)])).toBe(20);
});
