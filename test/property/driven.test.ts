// Accepted requests over any history: what their shard promises, whatever happens in between.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { LifeCycleEvent, Step } from "../../src/core/events.ts";
import { step } from "../../src/core/life-cycle.ts";
import type { Drive, IdempotencyRecord, Policy } from "../../src/core/record.ts";
import { deadlineOf } from "../../src/core/step.ts";
import { attemptId, durationMs, epochMs } from "../../src/core/units.ts";
import { FINGERPRINT, type Moment, operatedHistory, play, policyFor } from "../support/life-cycle-history.ts";

const DRIVE: Drive = {
  attempts: 3,
  firstPauseMs: durationMs(10),
  longestPauseMs: durationMs(60),
  giveUpAfterMs: durationMs(120),
};
const LOOK = { type: "look", print: FINGERPRINT } as const;

interface Lived extends Step {
  readonly before: IdempotencyRecord | null;
  readonly event: LifeCycleEvent;
  readonly now: number;
  readonly policy: Policy;
}

const rules = fc.constantFrom<Policy["unknown"]>("retry", "hold", "verify");
const kinds = fc.constantFrom("begin", "wait", "due", "cancel");
const moves = fc.array(
  fc.record({
    kind: fc.oneof(kinds, fc.constantFrom("refused", "ambiguous", "renew", "result", "release", "forget", "tick")),
    ago: fc.nat(1),
    passing: fc.oneof(fc.constant("deadline"), fc.constantFrom(0, 1, 15, 130)),
  }),
  { maxLength: 25, size: "max" },
);

function drivenHistory(
  unknown: Policy["unknown"],
  list: readonly { kind: string; ago: number; passing: string | number }[],
) {
  const policy = { ...policyFor(unknown), drive: DRIVE };
  const started: string[] = [];
  const lived: Lived[] = [];
  let record: IdempotencyRecord | null = null;
  let now = 1_000_000;
  for (const { kind, ago, passing } of list) {
    if (typeof passing === "number") now += passing;
    else if (record !== null) now = Math.max(now, deadlineOf(record));
    const event = eventOf(kind, attemptId(started.at(-1 - ago) ?? "none"), attemptId(`attempt ${lived.length}`));
    const next: Step = step(record, event, policy, epochMs(now));
    if (next.reply.type === "start") started.push(next.reply.record.attempt.id);
    lived.push({ ...next, before: record, event, now, policy });
    ({ record } = next);
  }
  return lived;
}

function eventOf(kind: string, of: ReturnType<typeof attemptId>, fresh: ReturnType<typeof attemptId>): LifeCycleEvent {
  switch (kind) {
    case "begin":
    case "wait":
      return { type: "request", fingerprint: FINGERPRINT, attemptId: fresh, home: { kind: "own" }, accept: kind };
    case "due":
      return { type: "due", attemptId: fresh };
    case "cancel":
      return { type: "cancel", print: FINGERPRINT };
    case "refused":
    case "ambiguous":
      return { type: kind, attemptId: of, reason: { kind: "dropped" }, pause: { jitter: 0, retryAfterMs: null } };
    case "renew":
      return { type: "renew", attemptId: of };
    case "result":
      return { type: "result", attemptId: of, status: 201, kept: true, verified: false };
    case "release":
    case "forget":
      return { type: kind, by: "admin", reason: "because" };
    default:
      return { type: "tick" };
  }
}

function check(each: (one: Lived) => void): void {
  fc.assert(
    fc.property(rules, moves, (unknown, list) => {
      for (const one of drivenHistory(unknown, list)) each(one);
    }),
    { numRuns: 3000 },
  );
}

it("changes nothing for those who look, or ask again while it is driven", () => {
  check(({ record, policy, now }) => {
    expect(step(record, LOOK, policy, epochMs(now)).record).toBe(record);
    const { record: current } = step(record, { type: "tick" }, policy, epochMs(now));
    if (current === null || (current.state !== "waiting" && current.state !== "started")) return;
    const again = step(record, eventOf("wait", attemptId("x"), attemptId("x")), policy, epochMs(now));
    if (current.driven !== undefined) expect(again).toMatchObject({ reply: { type: "accepted" } });
    expect(again.record).toBe(record);
  });
});

it("begins no more attempts than promised, and none but the first after the limit", () => {
  check(({ reply, now }) => {
    if (reply.type !== "start" || reply.record.driven === undefined) return;
    const { attempt, driven } = reply.record;
    expect(attempt.number).toBeLessThanOrEqual(driven.lastAttempt);
    if (attempt.number > driven.lastAttempt - DRIVE.attempts + 1) expect(now).toBeLessThanOrEqual(driven.giveUpAt);
  });
});

it("begins an attempt only when the one before was refused, had a result, or lost its lock", () => {
  fc.assert(
    fc.property(rules, moves, (unknown, list) => {
      const lockedUntil = new Map<string, number>();
      for (const { event, reply, record, now } of drivenHistory(unknown, list)) {
        if (reply.type === "start") {
          for (const until of lockedUntil.values()) expect(until).toBeLessThanOrEqual(now);
          lockedUntil.set(reply.record.attempt.id, reply.record.attempt.lockedUntil);
        }
        if (reply.type !== "settled" || !("attemptId" in event)) continue;
        if (event.type === "renew" && record !== null) lockedUntil.set(event.attemptId, record.attempt.lockedUntil);
        if (event.type === "result" || event.type === "refused") lockedUntil.delete(event.attemptId);
      }
    }),
    { numRuns: 3000 },
  );
});

it("waits only as a driven record, and is none any more once it has its end", () => {
  check(({ record }) => {
    if (record?.state === "waiting") expect(record.driven).toBeDefined();
    if (record !== null && ["completed", "failed", "remembered"].includes(record.state))
      expect(record).not.toHaveProperty("driven");
  });
});

it("changes nothing for requests that nobody accepts, whatever the policy", () => {
  fc.assert(
    fc.property(operatedHistory, rules, (moments: readonly Moment[], unknown) => {
      const plain = play(moments, unknown);
      let record: IdempotencyRecord | null = null;
      for (const { event, now, policy, reply, record: expected } of plain) {
        const next: Step = step(record, event, { ...policy, drive: DRIVE }, now);
        ({ record } = next);
        expect(withoutDrive({ reply: next.reply, record })).toEqual(withoutDrive({ reply, record: expected }));
      }
    }),
    { numRuns: 2000 },
  );
});

function withoutDrive(value: unknown): unknown {
  const told: unknown = JSON.parse(JSON.stringify(value, (name, one: unknown) => (name === "drive" ? undefined : one)));
  return told;
}
