// A clock that was ahead, and is right again: whatever it has put off is due within the longest pause that its settings allow, and no lock
// ends before its time.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  alertsBroughtBack,
  STILL_UNKNOWN_MS,
  REMIND_MS,
  raiseAlert,
  WINDOW_MS,
} from "../../../../src/kernel/record/alerts.ts";
import type { LifeCycleEvent, LifeCycleStep } from "../../../../src/kernel/record/events.ts";
import { MAX_PAUSE_MS, step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Policy } from "../../../../src/kernel/record/record.ts";
import { attemptId, dueAt, durationMs, epochMs, isPauseOn } from "../../../../src/kernel/record/units.ts";
import { FINGERPRINT, LOCK_MS, policyFor } from "../../../support/life-cycle-history.ts";

const HOUR_MS = 3_600_000;
const NOW = epochMs(1_000_000_000);
const LONGEST_MS = durationMs(80);
const SCHEDULE = {
  attempts: 3,
  firstPauseMs: durationMs(20),
  longestPauseMs: LONGEST_MS,
  giveUpAfterMs: durationMs(1000 * HOUR_MS),
};

const reason = { kind: "status", status: 503 } as const;
const pause = { jitter: 0, retryAfterMs: null };

function policyOf(unknown: Policy["unknown"]): Policy {
  // Nothing expires here.
  const kept = durationMs(1000 * HOUR_MS);
  return { ...policyFor(unknown), schedule: SCHEDULE, retentionMs: kept, unknownRetentionMs: kept };
}

function request(id: string, accept?: "begin" | "wait"): LifeCycleEvent {
  return { type: "request", fingerprint: FINGERPRINT, attemptId: attemptId(id), accept };
}

const refused = (id: string): LifeCycleEvent => ({ type: "refused", attemptId: attemptId(id), reason, pause });
const ambiguous = (id: string): LifeCycleEvent => ({ type: "ambiguous", attemptId: attemptId(id), reason, pause });
const due = (id: string): LifeCycleEvent => ({ type: "due", attemptId: attemptId(id) });

/** The last of these steps, each at its time. */
function last(
  policy: Policy,
  ...events: readonly (readonly [atMs: number, event: LifeCycleEvent])[]
): LifeCycleStep | null {
  let taken: LifeCycleStep | null = null;
  for (const [atMs, event] of events) taken = step(taken?.record ?? null, event, policy, epochMs(NOW + atMs));
  return taken;
}

describe("when something is due", () => {
  it("is its time, unless that is further away than it can be: then it is now", () => {
    expect(dueAt(epochMs(NOW + 80), LONGEST_MS, NOW)).toBe(NOW + 80);
    expect(dueAt(epochMs(NOW + 81), LONGEST_MS, NOW)).toBe(NOW);
    expect(dueAt(epochMs(NOW - 5), LONGEST_MS, NOW)).toBe(NOW - 5);
    expect([79, 80, 81, 0].map((ms) => isPauseOn(epochMs(NOW + ms), LONGEST_MS, NOW))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("after a clock that was ahead", () => {
  const retry = policyOf("retry");

  it("a request that was refused is tried again at once", () => {
    const begun = [HOUR_MS, request("a", "begin")] as const;
    expect(last(retry, begun, [HOUR_MS, refused("a")], [0, due("b")])?.reply.type).toBe("start");
  });

  it("a request that waits for its first turn is tried at once", () => {
    expect(last(retry, [HOUR_MS, request("a", "wait")], [0, due("b")])?.reply.type).toBe("start");
  });

  it("a request whose attempt may still be running waits for the end of its lock, however far away that is", () => {
    const before = [
      [HOUR_MS, request("a", "begin")],
      [HOUR_MS, ambiguous("a")],
    ] as const;
    expect(last(retry, ...before, [0, due("b")])?.reply.type).toBe("nothing-due");
    expect(last(retry, ...before, [HOUR_MS + LOCK_MS - 1, due("b")])?.reply.type).toBe("nothing-due");
    const pauseMs = SCHEDULE.firstPauseMs / 2;
    expect(last(retry, ...before, [HOUR_MS + LOCK_MS + pauseMs, due("b")])?.reply.type).toBe("start");
  });

  it("the next request starts an attempt at once where the last was refused and nobody waits for more", () => {
    expect(last(retry, [HOUR_MS, request("a")], [HOUR_MS, refused("a")], [0, request("b")])?.reply.type).toBe("start");
  });

  it("the origin is asked at once about an attempt that was lost", () => {
    const verify = policyOf("verify");
    const taken = last(verify, [2 * HOUR_MS, request("a")], [2 * HOUR_MS, ambiguous("a")], [0, { type: "tick" }]);
    expect(taken?.record).toMatchObject({
      state: "unknown",
      verifyAt: NOW,
      attempt: { lockedUntil: NOW + 2 * HOUR_MS + LOCK_MS },
    });
  });

  it.each(["release", "resolve"] as const)(
    "a record that an operator's %s leaves stays until its lock has ended",
    (type) => {
      const policy = { ...policyOf("hold"), retentionMs: LONGEST_MS };
      const decision = { type, status: 201, by: "operator", reason: "test" } as const;
      const lost = [[HOUR_MS, request("a")] as const, [HOUR_MS, ambiguous("a")] as const];
      expect(last(policy, ...lost, [0, decision], [LONGEST_MS, request("b")])?.reply.type).not.toBe("start");
      expect(last(policy, ...lost, [0, decision], [HOUR_MS + LOCK_MS, request("b")])?.reply.type).toBe("start");
    },
  );

  it("a record that an operator has released is kept for its retention after its lock, for the number of the next attempt", () => {
    const policy = { ...retry, retentionMs: LONGEST_MS };
    const release = { type: "release", by: "operator", reason: "test" } as const;
    const lost = [[HOUR_MS, request("a")] as const, [HOUR_MS + LOCK_MS, { type: "tick" }] as const];
    const atMs = HOUR_MS + LOCK_MS + LONGEST_MS - 1;
    expect(last(policy, ...lost, [0, release], [atMs, request("b")])?.record?.attempt.number).toBe(2);
    expect(last(policy, ...lost, [0, release], [atMs + 1, request("b")])?.record?.attempt.number).toBe(1);
  });

  it("an alert is told at once, and what waits to be told is due", () => {
    const at = epochMs(NOW + HOUR_MS);
    expect(raiseAlert({ name: "outcome-unknown", at, count: 2, due: null }, "outcome-unknown", NOW).more).toBe(2);
    expect(
      raiseAlert({ name: "outcome-unknown", at: NOW, count: 2, due: null }, "outcome-unknown", NOW).more,
    ).toBeNull();
    const state = (name: string, inMs: number) => ({ name, at, count: 1, due: epochMs(NOW + inMs) });
    const far = [state("outcome-unknown", WINDOW_MS + 1), state("outcome-still-unknown", REMIND_MS + 1)];
    const near = [
      state("outcome-unknown", WINDOW_MS),
      state("outcome-still-unknown", STILL_UNKNOWN_MS),
      { ...state("x", 0), due: null },
    ];
    const back = [state("outcome-unknown", 0), state("outcome-still-unknown", 0)];
    expect(alertsBroughtBack([...far, ...near], NOW)).toEqual(back);
  });
});

const KINDS = ["request", "wait", "due", "refused", "ambiguous", "renew", "absent", "tick"] as const;

const moves = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    byMs: fc.constantFrom(0, 1, 20, LOCK_MS, LOCK_MS + 1),
    aheadMs: fc.constantFrom(0, 0, 1, LOCK_MS, HOUR_MS, 30 * HOUR_MS),
  }),
  { maxLength: 20 },
);

function eventOf(kind: (typeof KINDS)[number], current: string, fresh: string, now: number): LifeCycleEvent {
  const id = attemptId(current);
  switch (kind) {
    case "request":
      return request(fresh, "begin");
    case "wait":
      return request(fresh, "wait");
    case "due":
      return due(fresh);
    case "refused":
      return refused(current);
    case "ambiguous":
      return ambiguous(current);
    case "renew":
      return { type: "renew", attemptId: id };
    case "absent":
      return { type: "absent", attemptId: id, verifiedAt: epochMs(now) };
    case "tick":
      return { type: "tick" };
  }
}

/** Plays moves by a clock that is ahead at times; `each` sees every step, with the time that the clock shows. */
function play(
  policy: Policy,
  list: typeof moves extends fc.Arbitrary<infer T> ? T : never,
  each: (taken: LifeCycleStep, event: LifeCycleEvent, now: number) => void,
): IdempotencyRecord | null {
  let record: IdempotencyRecord | null = null;
  let rightMs: number = NOW;
  for (const [at, { kind, byMs, aheadMs }] of list.entries()) {
    rightMs += byMs;
    const now = rightMs + aheadMs;
    const event = eventOf(kind, record?.attempt.id ?? "none", `a${at}`, now);
    const taken: LifeCycleStep = step(record, event, policy, epochMs(now));
    ({ record } = taken);
    each(taken, event, now);
  }
  return record;
}

describe("whatever a clock does", () => {
  const rules = fc.constantFrom("retry" as const, "verify" as const);

  it("no attempt starts before the end of a lock, by the clock as it is", () => {
    fc.assert(
      fc.property(rules, moves, (unknown, list) => {
        const locks = new Map<string, number>();
        play(policyOf(unknown), list, ({ reply, record }, event, now) => {
          if (reply.type === "start") {
            for (const until of locks.values()) expect(until).toBeLessThanOrEqual(now);
            // Those that have ended, by whichever clock, bind nobody any more.
            locks.clear();
            locks.set(reply.record.attempt.id, reply.record.attempt.lockedUntil);
          }
          if (reply.type !== "settled" || !("attemptId" in event)) return;
          if (event.type === "renew" && record !== null) locks.set(event.attemptId, record.attempt.lockedUntil);
          if (event.type === "refused") locks.delete(event.attemptId);
        });
      }),
      { numRuns: 3000 },
    );
  });

  it("what waits without a lock is due within the longest pause after the clock is right", () => {
    fc.assert(
      fc.property(rules, moves, (unknown, list) => {
        const policy = policyOf(unknown);
        const before = play(policy, list, () => undefined);
        const rightMs = NOW + list.reduce((sum, { byMs }) => sum + byMs, 0);
        const { record } = step(before, { type: "tick" }, policy, epochMs(rightMs));
        if (record?.state === "waiting" && record.attempt.lockedUntil <= rightMs)
          expect(record.startAt).toBeLessThanOrEqual(rightMs + LONGEST_MS);
        if (record?.state === "unknown" && record.verifyAt !== null)
          expect(record.verifyAt).toBeLessThanOrEqual(rightMs + Math.max(MAX_PAUSE_MS, LOCK_MS));
      }),
      { numRuns: 3000 },
    );
  });
});
