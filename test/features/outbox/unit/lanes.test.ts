// Callers who wait for a place take turns.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LANES, laneOf, nextLane } from "../../../../src/kernel/record/lanes.ts";

interface Waiting {
  readonly lane: number;
  readonly at: number;
}

const PLACES = 4;
const lane = fc.nat(3);
const requests = fc.array(fc.record({ lane, at: fc.nat(50) }), { maxLength: 40 });

/** Fills the places; returns what began, in order. `ends` says which of the running ones ends next. */
function played(
  waiting: readonly Waiting[],
  ends: readonly number[],
): readonly { began: Waiting; running: Waiting[]; left: Waiting[] }[] {
  const left = waiting.toSorted((one, other) => one.at - other.at);
  const running: Waiting[] = [];
  const log: { began: Waiting; running: Waiting[]; left: Waiting[] }[] = [];
  for (let nth = 0; left.length > 0; nth += 1) {
    if (running.length === PLACES) running.splice((ends[nth % ends.length] ?? 0) % PLACES, 1);
    const counts = new Map<number, number>();
    for (const one of running) counts.set(one.lane, (counts.get(one.lane) ?? 0) + 1);
    const heads = [...new Map(left.toReversed().map((one) => [one.lane, one])).values()];
    const began = nextLane(heads, counts);
    if (began === null) throw new Error("nothing begins, and requests wait");
    log.push({ began, running: [...running], left: [...left] });
    left.splice(left.indexOf(began), 1);
    running.push(began);
  }
  return log;
}

describe("the next lane", () => {
  it("has no more attempts running than any other in which a request waits, and of these its request is due for longest", () => {
    fc.assert(
      fc.property(requests, fc.array(fc.nat(3), { minLength: 1 }), (waiting, ends) => {
        for (const { began, running, left } of played(waiting, ends)) {
          const count = (of: number): number => running.filter((one) => one.lane === of).length;
          for (const other of left) {
            expect(count(began.lane)).toBeLessThanOrEqual(count(other.lane));
            if (count(other.lane) === count(began.lane)) expect(began.at).toBeLessThanOrEqual(other.at);
          }
        }
      }),
    );
  });

  it("is another caller's within as many places as there are lanes, whatever waits in front of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.array(fc.nat(3), { minLength: 1 }), (many, ends) => {
        const flood = Array.from({ length: many }, () => ({ lane: 0, at: 0 }));
        const victim = { lane: 1, at: 1 };
        const order = played([...flood, victim], ends).map(({ began }) => began);
        expect(order.indexOf(victim)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("is none where nothing waits", () => {
    expect(nextLane([], new Map())).toBeNull();
  });
});

it("a caller's lane is one of a few, each about as likely", () => {
  const counts = new Map<number, number>();
  for (let nth = 0; nth < 65_536; nth += 1) {
    const found = laneOf(`network 192.0.2.${nth}`);
    counts.set(found, (counts.get(found) ?? 0) + 1);
  }
  expect([...counts.keys()].toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: LANES }, (_, at) => at),
  );
  for (const count of counts.values()) expect(Math.abs(count / (65_536 / LANES) - 1)).toBeLessThan(0.1);
});
