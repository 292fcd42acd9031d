import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ScheduledWork, ObjectTimers } from "../../../../src/kernel/object/timers.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  // First: what spied on a timer puts that one back.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("timers", () => {
  it("run each task at its time, once, with one timer of the runtime", () => {
    const timers = new ObjectTimers();
    const done: string[] = [];
    timers.set(300, () => done.push("late"));
    timers.set(100, () => done.push("soon"));
    timers.set(200, () => done.push("then"));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(99);
    expect(done).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(done).toEqual(["soon"]);
    vi.advanceTimersByTime(1000);
    expect(done).toEqual(["soon", "then", "late"]);
  });

  it("leave no timer when nothing is due, because it would keep the object in memory", () => {
    const timers = new ObjectTimers();
    const one = timers.set(100, () => undefined);
    const other = timers.set(200, () => undefined);
    one.cancel();
    expect(vi.getTimerCount()).toBe(1);
    other.cancel();
    expect(vi.getTimerCount()).toBe(0);
    one.move(50);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("can be postponed, cancelled, and set again after they have run", () => {
    const timers = new ObjectTimers();
    let times = 0;
    const due = timers.set(100, () => {
      times += 1;
    });
    due.move(250);
    vi.advanceTimersByTime(249);
    expect(times).toBe(0);
    vi.advanceTimersByTime(1);
    expect(times).toBe(1);
    due.move(100);
    due.move(Number.POSITIVE_INFINITY);
    vi.advanceTimersByTime(10_000);
    expect([times, vi.getTimerCount()]).toEqual([1, 0]);
    due.move(100);
    vi.advanceTimersByTime(100);
    expect(times).toBe(2);
  });

  it("run a task that is due before all earlier ones, also after a long pause", () => {
    const timers = new ObjectTimers();
    const done: string[] = [];
    timers.set(5000, () => done.push("late"));
    vi.advanceTimersByTime(1000);
    timers.set(10, () => done.push("soon"));
    vi.advanceTimersByTime(10);
    expect(done).toEqual(["soon"]);
    vi.advanceTimersByTime(3990);
    expect(done).toEqual(["soon", "late"]);
  });

  it("may set and cancel others while they run", () => {
    const timers = new ObjectTimers();
    const done: string[] = [];
    timers.set(100, () => {
      done.push("first");
      second.cancel();
      timers.set(50, () => done.push("third"));
    });
    const second = timers.set(100, () => done.push("second"));
    vi.advanceTimersByTime(1000);
    expect(done).toEqual(["first", "third"]);
  });
});

describe("timers of thousands of waiters", () => {
  it("use one timer of the runtime, and each runs at its time", () => {
    const timers = new ObjectTimers();
    let done = 0;
    const dues = Array.from({ length: 10_000 }, (_, index) => timers.set(1000 + index, () => (done += 1)));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1499);
    expect(done).toBe(500);
    for (const due of dues) due.cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("continue when one task fails", () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    const timers = new ObjectTimers();
    const done: string[] = [];
    timers.set(100, () => {
      throw new Error("broken");
    });
    timers.set(100, () => done.push("same time"));
    timers.set(300, () => done.push("later"));
    vi.advanceTimersByTime(1000);
    expect(done).toEqual(["same time", "later"]);
    expect(log).toHaveBeenCalledOnce();
    log.mockRestore();
  });

  it("never throw when the platform refuses more timers, and continue with the next that is set", () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    const timers = new ObjectTimers();
    const done: string[] = [];
    const none = vi.spyOn(globalThis, "setTimeout").mockImplementation(() => {
      throw new Error("QuotaExceededError");
    });
    timers.set(50, () => done.push("first"));
    none.mockRestore();
    timers.set(5000, () => done.push("second"));
    vi.advanceTimersByTime(1000);
    expect(done).toEqual(["first"]);
    log.mockRestore();
  });

  it("end a wait for a promise, and leave nothing behind if they were not needed", async () => {
    const timers = new ObjectTimers();
    const late = timers.firstOf(new Promise<string>(() => undefined), 100);
    const early = timers.firstOf(Promise.resolve("early"), 1_000_000);
    expect(await early).toBe("early");
    vi.advanceTimersByTime(100);
    expect(await late).toBeNull();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("many timers, set, moved and cancelled in any order", () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ type: fc.constant("set" as const), afterMs: fc.nat(40) }),
      fc.record({
        type: fc.constant("move" as const),
        which: fc.nat(),
        afterMs: fc.oneof(fc.nat(40), fc.constant(Number.POSITIVE_INFINITY)),
      }),
      fc.record({ type: fc.constant("cancel" as const), which: fc.nat() }),
      fc.record({ type: fc.constant("pass" as const), ms: fc.nat(30) }),
    ),
    { maxLength: 60 },
  );

  it("each run at their time", () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const timers = new ObjectTimers();
        const begun = performance.now();
        const model: { dueAt: number; due: ScheduledWork }[] = [];
        for (const step of taken) {
          const now = performance.now();
          switch (step.type) {
            case "set": {
              const index = model.length;
              const due = timers.set(step.afterMs, () => {
                const own = model[index];
                expect(own?.dueAt).toBe(performance.now() - begun);
                if (own !== undefined) own.dueAt = Number.POSITIVE_INFINITY;
              });
              model.push({ dueAt: now - begun + step.afterMs, due });
              break;
            }
            case "move": {
              const own = model[step.which % Math.max(1, model.length)];
              own?.due.move(step.afterMs);
              if (own !== undefined && own.dueAt !== -1) own.dueAt = now - begun + step.afterMs;
              break;
            }
            case "cancel": {
              const own = model[step.which % Math.max(1, model.length)];
              own?.due.cancel();
              if (own !== undefined) own.dueAt = -1;
              break;
            }
            case "pass":
              vi.advanceTimersByTime(step.ms);
              for (const { dueAt } of model) {
                if (dueAt !== -1) expect(dueAt).toBeGreaterThan(performance.now() - begun);
              }
          }
        }
        for (const { due } of model) due.cancel();
        expect(vi.getTimerCount()).toBe(0);
      }),
    );
  });
});
