// Accepted requests over any history: what their shard promises, whatever happens in between.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { LifeCycleStep } from "../../../../src/kernel/record/events.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import { type IdempotencyRecord, promiseIn } from "../../../../src/kernel/record/record.ts";
import { attemptId, epochMs } from "../../../../src/kernel/record/units.ts";
import { SCHEDULE, acceptedHistory, eventOf, type Lived, moves, rules } from "../../../support/accepted-history.ts";
import { FINGERPRINT, type Moment, operatedHistory, play } from "../../../support/life-cycle-history.ts";

const LOOK = { type: "look", fingerprintPrefix: FINGERPRINT } as const;

function check(each: (one: Lived) => void): void {
  fc.assert(
    fc.property(rules, moves, (unknown, list) => {
      for (const one of acceptedHistory(unknown, list)) each(one);
    }),
    { numRuns: 3000 },
  );
}

it("changes nothing for those who look, or ask again while it is pending", () => {
  check(({ record, policy, now }) => {
    expect(step(record, LOOK, policy, epochMs(now)).record).toBe(record);
    const { record: current } = step(record, { type: "tick" }, policy, epochMs(now));
    if (current === null || (current.state !== "waiting" && current.state !== "started")) return;
    const again = step(record, eventOf("wait", attemptId("x"), attemptId("x")), policy, epochMs(now));
    if (current.accepted !== undefined) expect(again).toMatchObject({ reply: { type: "accepted" } });
    expect(again.record).toBe(record);
  });
});

it("begins no more attempts than promised, and none but the first after the limit", () => {
  check(({ reply, now }) => {
    if (reply.type !== "start" || reply.record.accepted === undefined) return;
    const { attempt, accepted } = reply.record;
    expect(attempt.number).toBeLessThanOrEqual(accepted.lastAttempt);
    // A message is never given up.
    const isFirst = attempt.number === accepted.lastAttempt - SCHEDULE.attempts + 1;
    if (!isFirst && accepted.isParked !== true) expect(now).toBeLessThanOrEqual(accepted.giveUpAt);
  });
});

it("begins an attempt only when the one before was refused, had a result, or lost its lock", () => {
  fc.assert(
    fc.property(rules, moves, (unknown, list) => {
      const lockedUntil = new Map<string, number>();
      for (const { event, reply, record, now } of acceptedHistory(unknown, list)) {
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

it("waits only as an accepted record, and is none any more once it has its end", () => {
  check(({ record }) => {
    if (record?.state === "waiting") expect(record.accepted).toBeDefined();
    if (record !== null && ["completed", "failed", "remembered"].includes(record.state))
      expect(record).not.toHaveProperty("accepted");
  });
});

it("keeps a message that nobody would send again until it has a result, it expires, or people decide", () => {
  check(({ before, record, event, policy, now }) => {
    const { record: current } = step(before, { type: "tick" }, policy, epochMs(now));
    if (promiseIn(current)?.isParked !== true || event.type === "cancel" || event.type === "forget") return;
    expect(["waiting", "started", "unknown", "completed"]).toContain(record?.state);
    if (record?.state !== "completed") expect(promiseIn(record)?.isParked).toBe(true);
  });
});

it("changes nothing for requests that nobody accepts, whatever the policy", () => {
  fc.assert(
    fc.property(operatedHistory, rules, (moments: readonly Moment[], unknown) => {
      const plain = play(moments, unknown);
      let record: IdempotencyRecord | null = null;
      for (const { event, now, policy, reply, record: expected } of plain) {
        const next: LifeCycleStep = step(record, event, { ...policy, schedule: SCHEDULE }, now);
        ({ record } = next);
        expect(withoutSchedule({ reply: next.reply, record })).toEqual(withoutSchedule({ reply, record: expected }));
      }
    }),
    { numRuns: 2000 },
  );
});

function withoutSchedule(value: unknown): unknown {
  const reported: unknown = JSON.parse(
    JSON.stringify(value, (name, one: unknown) => (name === "schedule" ? undefined : one)),
  );
  return reported;
}
