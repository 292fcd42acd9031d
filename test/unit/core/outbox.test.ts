// What follows a try to relay an event, and which results have events.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterFailure,
  type DestinationState,
  type Failure,
  isOver,
  isOwnFailure,
  LONGEST_PAUSE_MS,
  matches,
  nextTurn,
  restAfter,
  restAfterSuccess,
  restMs,
  triedFrom,
  withLane,
} from "../../../src/core/outbox.ts";
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

const FRESH: DestinationState = { rest: null, failing: 0, lastLane: 16 };
const FAILED = { ...PLAIN, reason: "status 500" };

/** The state after events of these lanes were not taken, one after the other. */
function failedIn(lanes: readonly number[], before = FRESH): DestinationState {
  return lanes.reduce<DestinationState>(
    (state, lane) => ({
      rest: restAfter(state, lane, FAILED, 0, NOW),
      failing: withLane(state.failing, lane),
      lastLane: lane,
    }),
    before,
  );
}

const heads = (...lanes: readonly number[]): { lane: number; at: number }[] => lanes.map((lane) => ({ lane, at: NOW }));

describe("nextTurn", () => {
  it("goes round the lanes", () => {
    expect(nextTurn(heads(2, 5, 9), { ...FRESH, lastLane: 5 }, NOW)).toEqual({ lane: 9, isProbe: false });
    expect(nextTurn(heads(2, 5, 9), { ...FRESH, lastLane: 9 }, NOW)).toEqual({ lane: 2, isProbe: false });
    expect(nextTurn(heads(5), { ...FRESH, lastLane: 5 }, NOW)).toEqual({ lane: 5, isProbe: false });
    expect(nextTurn([{ lane: 1, at: NOW + 1 }], FRESH, NOW)).toBeNull();
  });

  it("lets only those lanes wait whose events were not taken", () => {
    const state = failedIn([3]);
    expect(nextTurn(heads(3, 4), state, NOW)).toEqual({ lane: 4, isProbe: false });
    expect(nextTurn(heads(3), state, NOW)).toBeNull();
    expect(triedFrom({ lane: 3, at: NOW }, state)).toBe(state.rest?.until);
    expect(triedFrom({ lane: 4, at: NOW }, state)).toBe(NOW);
    expect(nextTurn(heads(3), state, epochMs(NOW + 5000))).toEqual({ lane: 3, isProbe: true });
  });

  it("lets all wait after failures in three lanes, and then tries those first that have not failed", () => {
    const state = failedIn([3, 4, 5]);
    expect(state.rest?.failures).toBe(1);
    expect(nextTurn(heads(3, 6), state, NOW)).toBeNull();
    expect(nextTurn(heads(3, 6, 9), { ...state, lastLane: 9 }, epochMs(NOW + 5000))).toEqual({
      lane: 6,
      isProbe: true,
    });
  });

  it("never lets a lane wait longer than the destination rests, and always finds one that can be tried", () => {
    const lane = fc.integer({ min: 0, max: 16 });
    const lanes = fc.array(lane, { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(lanes, fc.array(lane), lane, fc.nat(10_000), (due, failed, lastLane, afterMs) => {
        const state = { ...failedIn(failed), lastLane };
        const now = epochMs(NOW + afterMs);
        const turn = nextTurn(heads(...due), state, now);
        const isResting = state.rest !== null && now < state.rest.until;
        if (!isResting) expect(turn).not.toBeNull();
        if (turn === null) return;
        expect(due).toContain(turn.lane);
        if (isResting) expect(failed).not.toContain(turn.lane);
      }),
    );
  });
});

describe("a failure", () => {
  it("is the event's own if the destination says so, or has taken another of its lane since it failed before", () => {
    const again = { tries: 1, lane: 3 };
    expect(isOwnFailure({ tries: 0, lane: 3 }, { ...PLAIN, scope: "event" }, FRESH)).toBe(true);
    expect(isOwnFailure({ tries: 0, lane: 3 }, PLAIN, FRESH)).toBe(false);
    expect(isOwnFailure(again, PLAIN, FRESH)).toBe(true);
    expect(isOwnFailure(again, PLAIN, failedIn([3]))).toBe(false);
    expect(isOwnFailure(again, PLAIN, failedIn([4]))).toBe(true);
    expect(isOwnFailure(again, PLAIN, { ...FRESH, failing: withLane(0, 3) })).toBe(false);
    expect(isOwnFailure(again, { ...PLAIN, scope: "gone" }, FRESH)).toBe(false);
  });

  it("after a rest makes the next one longer; that of another lane meanwhile does not", () => {
    const first = failedIn([3]);
    expect(failedIn([4], first).rest).toMatchObject({ until: NOW + 5000, failures: 1 });
    const after = restAfter(first, 3, FAILED, 0, epochMs(NOW + 5000));
    expect(after).toMatchObject({ until: NOW + 35_000, failures: 2, lanes: first.rest?.lanes });
  });

  it("of a destination that says it is gone lets all lanes wait for a day", () => {
    const rest = restAfter(FRESH, 3, { ...FAILED, scope: "gone" }, 0, NOW);
    expect(rest.until).toBe(NOW + LONGEST_PAUSE_MS);
    expect(nextTurn(heads(8), { ...FRESH, rest }, NOW)).toBeNull();
    expect(restAfter(failedIn([4]), 3, { ...FAILED, retryAfterMs: HOUR_MS }, 0, NOW).until).toBe(NOW + HOUR_MS);
  });

  it("is over for all when one of its lanes is taken, and for none when another is", () => {
    const { rest } = failedIn([3, 4]);
    expect(restAfterSuccess(rest, 3)).toBeNull();
    expect(restAfterSuccess(rest, 5)).toBe(rest);
    expect(restAfterSuccess(null, 5)).toBeNull();
  });
});
