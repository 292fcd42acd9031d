// What the alarm asks of the locks in flight, counted in entries that are looked at: it must not grow with their number.

import fc from "fast-check";
import { expect, it } from "vitest";
import { DueHeap } from "../../../../src/kernel/record/due-heap.ts";
import type { Started } from "../../../../src/kernel/record/record.ts";
import {
  attemptId,
  durationMs,
  type EpochMs,
  epochMs,
  fingerprint,
  recordId,
} from "../../../../src/kernel/record/units.ts";
import { type LockEnd, LockEnds } from "../../../../src/kernel/store/due-records.ts";
import type { LedgerSql } from "../../../../src/kernel/store/schema.ts";

const NOW = epochMs(1_700_000_000_000);
const nameOf = (number: number): ReturnType<typeof recordId> => recordId(`record-${number}`);
const at = (afterMs: number): EpochMs => epochMs(NOW + afterMs);

/** A heap that counts how often one of its entries is read or moved. */
class CountingHeap extends DueHeap<LockEnd> {
  touched = 0;
  readonly #counted = new WeakSet<LockEnd>();

  override put(entry: LockEnd): void {
    if (!this.#counted.has(entry)) {
      this.#counted.add(entry);
      for (const name of ["at", "index"] as const) {
        let value = entry[name];
        const touch = (): void => {
          this.touched += 1;
        };
        Object.defineProperty(entry, name, {
          get: () => (touch(), value),
          set: (next: number) => {
            touch();
            value = next;
          },
        });
      }
    }
    super.put(entry);
  }
}

/** Locks of an instance, as it finds them on its disk. */
function storedLocks(ends: readonly number[]): { readonly locks: LockEnds; readonly heap: CountingHeap } {
  const rows = ends.map((end, number) => ({ id: nameOf(number), locked_until: end }));
  const sql: unknown = { exec: () => ({ toArray: () => rows }) };
  const heap = new CountingHeap();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { locks: new LockEnds(sql as LedgerSql, heap), heap };
}

function started(lockedUntil: EpochMs): Started {
  const policy = {
    unknown: "hold",
    lockMs: durationMs(40_000),
    retentionMs: durationMs(86_400_000),
    unknownRetentionMs: durationMs(86_400_000),
  } as const;
  const attempt = { id: attemptId("attempt"), number: 1, startedAt: NOW, lockedUntil, mayHaveActed: false };
  return { state: "started", fingerprint: fingerprint("print"), attempt, policy };
}

/** What an alarm touches for which one lock of `count` has ended. */
function touchedByAlarm(count: number): { readonly asks: number; readonly renewal: number } {
  const { locks, heap } = storedLocks(Array.from({ length: count }, (_, number) => at(number === 0 ? -1 : number)));
  locks.next();
  heap.touched = 0;
  // The handler sees that there is work, takes it, and sets the next alarm.
  expect(locks.next()).toBe(at(-1));
  expect(locks.ended(NOW, 100)).toEqual([nameOf(0)]);
  const asks = heap.touched;
  heap.touched = 0;
  locks.note(nameOf(0), started(at(40_000)));
  expect(locks.ended(NOW, 100)).toEqual([]);
  expect(locks.next()).toBe(count === 1 ? at(40_000) : at(1));
  return { asks, renewal: heap.touched };
}

it("looks at no more of ten thousand locks than the heap is deep", () => {
  const one = touchedByAlarm(1);
  const many = touchedByAlarm(10_000);
  // A heap of 10,000 is 14 levels deep. Taking an entry out and putting it back moves at most one entry on each.
  expect(one).toEqual({ asks: 7, renewal: 7 });
  expect(many.asks).toBeLessThanOrEqual(7 + 2 * 14);
  expect(many.renewal).toBeLessThanOrEqual(7 + 2 * 14);
});

it("looks at none when no lock has ended, also if all have been renewed since", () => {
  const { locks, heap } = storedLocks(Array.from({ length: 10_000 }, () => at(0)));
  locks.next();
  for (let number = 0; number < 10_000; number += 1) locks.note(nameOf(number), started(at(40_000)));
  heap.touched = 0;
  expect(locks.ended(at(1), 100)).toEqual([]);
  expect(locks.next()).toBe(at(40_000));
  expect(heap.touched).toBe(0);
});

it("gives the ends that a list of all of them would give", () => {
  const change = fc.record({ id: fc.nat(8), at: fc.option(fc.nat(20), { nil: null }), isPutOff: fc.boolean() });
  const asked = fc.record({ now: fc.nat(20), limit: fc.nat(4) });
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 6 }), fc.array(fc.tuple(change, asked)), (ends, steps) => {
      const { locks } = storedLocks(ends.map((end) => at(end)));
      const all = new Map(ends.map((end, number) => [nameOf(number), at(end)]));
      locks.next();
      for (const [{ id, at: end, isPutOff }, { now, limit }] of steps) {
        const name = nameOf(id);
        if (end === null) {
          locks.note(name, null);
          all.delete(name);
        } else {
          if (isPutOff) locks.putOff(name, at(end));
          else locks.note(name, started(at(end)));
          all.set(name, at(end));
        }
        expect(locks.next()).toBe(all.size === 0 ? null : Math.min(...all.values()));
        const due = [...all.values()].filter((value) => value <= at(now)).toSorted((a, b) => a - b);
        const ended = locks.ended(at(now), limit);
        expect(ended.map((one) => all.get(one))).toEqual(due.slice(0, limit));
        expect(new Set(ended).size).toBe(ended.length);
      }
    }),
  );
});
