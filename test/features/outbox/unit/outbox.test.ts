// What follows a try to relay an event, and which results have events.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterFailure,
  ALL_LANES,
  EVERY_LANE,
  type TryFailure,
  isAway,
  isOver,
  isOwnFailure,
  LONGEST_PAUSE_MS,
  matchesStatus,
  nextTurn,
  type LaneRest,
  restAfter,
  restBroughtBack,
  restingAt,
  restMs,
  type LaneRests,
  triedFrom,
} from "../../../../src/kernel/record/outbox.ts";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";

const HOUR_MS = 3_600_000;
const GIVE_UP_MS = durationMs(72 * HOUR_MS);
const PLAIN: TryFailure = { retryAfterMs: null, scope: "destination" };
const NOW = epochMs(1_800_000_000_000);

const failures = fc.record({
  retryAfterMs: fc.option(fc.integer({ min: 0, max: 400 * HOUR_MS }), { nil: null }),
  scope: fc.constantFrom<TryFailure["scope"]>("event", "lane", "destination"),
});
const jitters = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("matches", () => {
  it("takes a status or its class", () => {
    expect(matchesStatus(201, ["2xx"])).toBe(true);
    expect(matchesStatus(201, [201])).toBe(true);
    expect(matchesStatus(404, ["2xx", 404])).toBe(true);
    expect(matchesStatus(302, ["2xx", 404])).toBe(false);
    expect(matchesStatus(200, [])).toBe(false);
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
      }),
    );
  });
});

const FAILED = { ...PLAIN, reason: "status 500" };

/** A rest that begins now, after so many failures in a row. */
function restOf(times: number, failure = FAILED): LaneRest {
  return restAfter(times === 1 ? null : { ...restOf(1), failures: times - 1 }, failure, 0, NOW);
}

/** Rests of these lanes. */
const restsOf = (...lanes: readonly number[]): LaneRests => new Map(lanes.map((lane) => [lane, restOf(1)]));

const heads = (...lanes: readonly number[]): { lane: number; at: number }[] => lanes.map((lane) => ({ lane, at: NOW }));
const NONE: LaneRests = new Map();

describe("nextTurn", () => {
  it("goes round the lanes", () => {
    expect(nextTurn(heads(2, 5, 9), { rests: NONE, lastLane: 5 }, NOW)).toEqual({ lane: 9, isProbe: false });
    expect(nextTurn(heads(2, 5, 9), { rests: NONE, lastLane: 9 }, NOW)).toEqual({ lane: 2, isProbe: false });
    expect(nextTurn(heads(5), { rests: NONE, lastLane: 5 }, NOW)).toEqual({ lane: 5, isProbe: false });
    expect(nextTurn([{ lane: 1, at: NOW + 1 }], { rests: NONE, lastLane: 16 }, NOW)).toBeNull();
  });

  it("lets a lane wait for its own rest, and for that of no other", () => {
    const day = restOf(1, { ...FAILED, retryAfterMs: LONGEST_PAUSE_MS });
    const rests: LaneRests = new Map([[3, restOf(1)], ...[0, 1, 2].map((lane) => [lane, day] as const)]);
    const state = { rests, lastLane: 16 };
    expect(nextTurn(heads(0, 1, 2, 3, 4), state, NOW)).toEqual({ lane: 4, isProbe: false });
    expect(nextTurn(heads(0, 1, 2, 3), state, NOW)).toBeNull();
    expect(triedFrom({ lane: 3, at: NOW }, rests)).toBe(NOW + 5000);
    expect(triedFrom({ lane: 4, at: NOW }, rests)).toBe(NOW);
    expect(nextTurn(heads(0, 1, 2, 3), state, epochMs(NOW + 5000))).toEqual({ lane: 3, isProbe: true });
  });

  it("lets all wait while the destination itself rests, and then tries the lane that has failed least", () => {
    const rests: LaneRests = new Map([
      [EVERY_LANE, { ...restOf(1), until: epochMs(NOW + 5000) }],
      [3, { ...restOf(2), until: NOW }],
      [4, { ...restOf(1), until: NOW }],
    ]);
    expect(nextTurn(heads(3, 4, 6), { rests, lastLane: 16 }, NOW)).toBeNull();
    const then = epochMs(NOW + 5000);
    expect(nextTurn(heads(3, 4), { rests, lastLane: 16 }, then)).toEqual({ lane: 4, isProbe: true });
    expect(nextTurn(heads(3, 4, 6), { rests, lastLane: 6 }, then)).toEqual({ lane: 6, isProbe: true });
  });

  it("always finds a lane that can be tried, if there is one", () => {
    const lane = fc.integer({ min: 0, max: 16 });
    const lanes = fc.array(lane, { minLength: 1, maxLength: 10 });
    const afterMs = fc.nat(10_000);
    fc.assert(
      fc.property(lanes, fc.array(lane), lane, afterMs, fc.boolean(), (due, failed, lastLane, after, isWhole) => {
        const rests = restsOf(...failed, ...(isWhole ? [EVERY_LANE] : []));
        const now = epochMs(NOW + after);
        const open = due.filter((one) => triedFrom({ lane: one, at: NOW }, rests) <= now);
        const turn = nextTurn(heads(...due), { rests, lastLane }, now);
        if (open.length === 0) expect(turn).toBeNull();
        else expect(open).toContain(turn?.lane);
        if (!isWhole && due.some((one) => !failed.includes(one))) expect(turn).not.toBeNull();
      }),
    );
  });
});

describe("a failure", () => {
  it("is the event's own if the destination says so, or has taken another of its lane since it failed before", () => {
    expect(isOwnFailure(0, { ...PLAIN, scope: "event" }, false)).toBe(true);
    expect(isOwnFailure(0, PLAIN, false)).toBe(false);
    expect(isOwnFailure(1, PLAIN, false)).toBe(true);
    expect(isOwnFailure(1, PLAIN, true)).toBe(false);
  });

  it("after another makes the next rest longer", () => {
    const first = restAfter(null, FAILED, 0, NOW);
    expect(first).toEqual({ until: NOW + 5000, setAt: NOW, failures: 1, reason: "status 500" });
    expect(restAfter(first, FAILED, 0, epochMs(NOW + 5000))).toMatchObject({ until: NOW + 35_000, failures: 2 });
  });

  it("by a clock that was ahead rests no longer once that is right, and otherwise as long as before", () => {
    const rest = restOf(2);
    expect(restBroughtBack(rest, NOW)).toBe(rest);
    expect(restBroughtBack(rest, epochMs(NOW + 10_000))).toBe(rest);
    const before = epochMs(NOW - 1);
    expect(restBroughtBack(rest, before)).toEqual({ ...rest, until: before, setAt: before });
  });

  it("without an answer is the destination's own after three lanes, or if it rests already", () => {
    expect(isAway(new Set([1, 2]), restsOf(1, 2, 3, 4))).toBe(false);
    expect(isAway(new Set([1, 2, 3]), NONE)).toBe(true);
    expect(isAway(new Set([1]), restsOf(EVERY_LANE))).toBe(true);
  });
});

describe("restingAt", () => {
  it("counts the lanes whose rests last, until when the last of them does, and why the worst does", () => {
    expect(restingAt(NONE, NOW)).toBeNull();
    expect(restingAt(restsOf(1, 2), epochMs(NOW + 5000))).toBeNull();
    const rests: LaneRests = new Map([
      [1, { ...restOf(3), reason: "status 403" }],
      [2, restOf(1)],
      [4, { ...restOf(1), until: NOW }],
    ]);
    expect(restingAt(rests, NOW)).toEqual({ lanes: 2, until: NOW + 300_000, failures: 3, reason: "status 403" });
  });

  it("counts all lanes while the destination itself rests", () => {
    const rests: LaneRests = new Map([...restsOf(1), [EVERY_LANE, { ...restOf(2), reason: "no answer" }]]);
    expect(restingAt(rests, NOW)).toEqual({ lanes: ALL_LANES, until: NOW + 30_000, failures: 2, reason: "no answer" });
  });
});
