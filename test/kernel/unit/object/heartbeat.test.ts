import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AttemptHeartbeat } from "../../../../src/kernel/object/heartbeat.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";

/** A pause between two requests after which local workerd may drop an object. */
const FORGOTTEN_MS = 70_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it.each([1, 20_000, 24_000, 25_000, 25_001, 30_000, 49_999, 60_000, 1_800_000])(
  "a lock that is renewed every %i ms is renewed in time, and its object is never evicted",
  (everyMs) => {
    const begunAt = performance.now();
    const beats: number[] = [];
    const calls: number[] = [0];
    const heartbeat = new AttemptHeartbeat(new ObjectTimers(), () => {
      calls.push(performance.now() - begunAt);
      return Promise.resolve();
    });
    const end = heartbeat.begin(everyMs, () => beats.push(performance.now() - begunAt));
    const forMs = Math.max(3 * everyMs, 10_000);
    vi.advanceTimersByTime(forMs);
    end();
    expect(beats.slice(0, 3)).toEqual([everyMs, 2 * everyMs, 3 * everyMs]);
    const pauses = [...calls.slice(1), forMs].map((at, index) => at - (calls[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThan(FORGOTTEN_MS);
    expect(vi.getTimerCount()).toBe(0);
  },
);
