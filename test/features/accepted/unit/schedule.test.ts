import { describe, expect, it } from "vitest";
import { acceptanceWith, acceptedAnew, nextStart, pauseAfterTry } from "../../../../src/kernel/record/schedule.ts";
import type { Attempt, Schedule } from "../../../../src/kernel/record/record.ts";
import { attemptId, durationMs, epochMs } from "../../../../src/kernel/record/units.ts";

const SCHEDULE: Schedule = {
  attempts: 3,
  firstPauseMs: durationMs(100),
  longestPauseMs: durationMs(800),
  giveUpAfterMs: durationMs(5000),
};
const NOW = epochMs(1_000_000);

function attempt(number: number): Attempt {
  return { id: attemptId("a"), number, startedAt: NOW, lockedUntil: NOW, mayHaveActed: false };
}

describe("the pause between two attempts of an accepted request", () => {
  it.each([
    [1, 0, 50],
    [1, 0.5, 75],
    [2, 0, 100],
    [3, 0, 200],
    [4, 0, 400],
    [5, 0, 400],
    [1e9, 0.5, 600],
  ])("after attempt %i with jitter %f: %i ms", (tried, jitter, pauseMs) => {
    expect(pauseAfterTry(SCHEDULE, tried, { jitter, retryAfterMs: null })).toBe(pauseMs);
  });

  it.each([
    ["is what the origin asks for", 300, 300],
    ["is never shorter than its own", 1, 50],
    ["is never longer than the longest, whatever the origin asks for", 1e12, 800],
  ])("%s", (_name, retryAfterMs, pauseMs) => {
    expect(pauseAfterTry(SCHEDULE, 1, { jitter: 0, retryAfterMs })).toBe(pauseMs);
  });

  it("takes the middle where nobody says anything", () => {
    expect(pauseAfterTry(SCHEDULE, 1)).toBe(75);
  });
});

describe("when the next attempt begins", () => {
  const advice = { jitter: 0, retryAfterMs: null };

  it("counts attempts and pauses from the promise, also after attempts that it did not promise", () => {
    const promise = acceptanceWith(SCHEDULE, 4, NOW);
    expect(promise).toEqual({ schedule: SCHEDULE, acceptedAt: NOW, giveUpAt: NOW + 5000, lastAttempt: 7 });
    expect(nextStart(promise, attempt(5), NOW, NOW, advice)).toBe(NOW + 50);
    expect(nextStart(promise, attempt(6), NOW, NOW, advice)).toBe(NOW + 100);
    expect(nextStart(promise, attempt(7), NOW, NOW, advice)).toBeNull();
  });

  it("is not before the lock of the last one has ended", () => {
    expect(nextStart(acceptanceWith(SCHEDULE, 0, NOW), attempt(1), epochMs(NOW + 400), NOW, advice)).toBe(NOW + 400);
  });

  it("is at the limit at the latest", () => {
    const promise = acceptanceWith(SCHEDULE, 0, NOW);
    expect(nextStart(promise, attempt(1), NOW, epochMs(NOW + 4950), advice)).toBe(NOW + 5000);
    expect(nextStart(promise, attempt(1), NOW, epochMs(NOW + 4951), advice)).toBeNull();
  });

  it("begins anew once an operator has released it, but it was accepted when it was", () => {
    const later = epochMs(NOW + 9000);
    const anew = acceptedAnew(acceptanceWith(SCHEDULE, 0, NOW), 3, later);
    expect(anew).toEqual({ schedule: SCHEDULE, acceptedAt: NOW, giveUpAt: later + 5000, lastAttempt: 6 });
  });
});
