import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Timers } from "../../../src/shard/timers.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("timers", () => {
  it("do each thing at its time, once, on one timer of the runtime", () => {
    const timers = new Timers();
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

  it("leave no timer behind when nothing is due, which would keep the object in memory", () => {
    const timers = new Timers();
    const one = timers.set(100, () => undefined);
    const other = timers.set(200, () => undefined);
    one.cancel();
    expect(vi.getTimerCount()).toBe(1);
    other.cancel();
    expect(vi.getTimerCount()).toBe(0);
    one.move(50);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("can be put off, for a while and for ever, and set again when they were done", () => {
    const timers = new Timers();
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

  it("do what is due sooner than all that was set before, also when nothing was looked at for long", () => {
    const timers = new Timers();
    const done: string[] = [];
    timers.set(5000, () => done.push("late"));
    vi.advanceTimersByTime(1000);
    timers.set(10, () => done.push("soon"));
    vi.advanceTimersByTime(10);
    expect(done).toEqual(["soon"]);
    vi.advanceTimersByTime(3990);
    expect(done).toEqual(["soon", "late"]);
  });

  it("may set and cancel others while they are done", () => {
    const timers = new Timers();
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
