// What follows a try to relay an event, and which results have events.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { afterFailure, type Failure, isOver, LONGEST_PAUSE_MS, matches, restMs } from "../../../src/core/outbox.ts";
import { durationMs, epochMs } from "../../../src/core/units.ts";

const HOUR_MS = 3_600_000;
const GIVE_UP_MS = durationMs(72 * HOUR_MS);
const PLAIN: Failure = { retryAfterMs: null, scope: "destination" };
const NOW = epochMs(1_800_000_000_000);

const failures = fc.record({
  retryAfterMs: fc.option(fc.integer({ min: 0, max: 400 * HOUR_MS }), { nil: null }),
  scope: fc.constantFrom<Failure["scope"]>("event", "destination", "gone"),
});
const jitters = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("matches", () => {
  it("takes a status or its class", () => {
    expect(matches(201, ["2xx"])).toBe(true);
    expect(matches(201, [201])).toBe(true);
    expect(matches(404, ["2xx", 404])).toBe(true);
    expect(matches(302, ["2xx", 404])).toBe(false);
    expect(matches(200, [])).toBe(false);
  });
});

describe("afterFailure", () => {
  it("tries again after 5 seconds, then ever less often", () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((tries) => {
      const next = afterFailure({ tries, createdAt: NOW }, GIVE_UP_MS, PLAIN, 0, NOW);
      return next.kind === "again" ? (next.due - NOW) / 1000 : null;
    });
    expect(pauses).toEqual([5, 30, 300, 1800, 7200, 18_000, 36_000]);
  });

  it("waits as long as the destination wants, up to a day", () => {
    const asked = (retryAfterMs: number): unknown =>
      afterFailure({ tries: 1, createdAt: NOW }, GIVE_UP_MS, { ...PLAIN, retryAfterMs }, 0, NOW);
    expect(asked(HOUR_MS)).toEqual({ kind: "again", due: NOW + HOUR_MS });
    expect(asked(1)).toEqual({ kind: "again", due: NOW + 5000 });
    expect(asked(100 * HOUR_MS)).toEqual({ kind: "again", due: NOW + LONGEST_PAUSE_MS });
  });

  it("gives an event up exactly when it is too old, with a try at that time", () => {
    const event = fc.record({
      tries: fc.integer({ min: 1, max: 1000 }),
      ageMs: fc.integer({ min: 0, max: 100 * HOUR_MS }),
    });
    fc.assert(
      fc.property(event, failures, jitters, ({ tries, ageMs }, failure, jitter) => {
        const createdAt = epochMs(NOW - ageMs);
        const next = afterFailure({ tries, createdAt }, GIVE_UP_MS, failure, jitter, NOW);
        expect(next.kind === "dead").toBe(isOver(createdAt, GIVE_UP_MS, NOW));
        if (next.kind === "dead") return;
        expect(next.due).toBeGreaterThan(NOW);
        expect(next.due).toBeLessThanOrEqual(createdAt + GIVE_UP_MS);
      }),
    );
  });
});

describe("restMs", () => {
  it("grows to five minutes, so that a destination that is back is soon found", () => {
    expect([1, 2, 3, 4, 100].map((count) => restMs(count, PLAIN, 0) / 1000)).toEqual([5, 30, 300, 300, 300]);
  });

  it("is at least what the destination wants, and never longer than a day", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), failures, jitters, (count, failure, jitter) => {
        const rest = restMs(count, failure, jitter);
        expect(rest).toBeLessThanOrEqual(LONGEST_PAUSE_MS);
        expect(rest).toBeGreaterThanOrEqual(Math.min(failure.retryAfterMs ?? 0, LONGEST_PAUSE_MS));
        if (failure.scope === "gone") expect(rest).toBe(LONGEST_PAUSE_MS);
      }),
    );
  });
});
