import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deadlineOf, step } from "../../src/core/life-cycle.ts";
import type { Policy } from "../../src/core/record.ts";
import { epochMs } from "../../src/core/units.ts";
import { history, type Moment, play, policyFor, type Taken } from "../support/life-cycle-history.ts";

const RUNS = { numRuns: 3000 };
const policies: readonly Policy["unknown"][] = ["retry", "hold"];

function checkHistories(
  check: (taken: readonly Taken[], moments: readonly Moment[]) => void,
  unknown?: Policy["unknown"],
): void {
  fc.assert(
    fc.property(history, (moments) => {
      check(play(moments, unknown), moments);
    }),
    RUNS,
  );
}

describe("life cycle, over any history", () => {
  it("starts an attempt only when none is at work: the one before was refused, or its lock has ended", () => {
    checkHistories((taken) => {
      const lockedUntil = new Map<string, number>();
      for (const { event, reply, record, now } of taken) {
        if (reply.type === "start") {
          for (const until of lockedUntil.values()) expect(until).toBeLessThanOrEqual(now);
          lockedUntil.set(reply.record.attempt.id, reply.record.attempt.lockedUntil);
        }
        if (reply.type !== "settled" || !("attemptId" in event)) continue;
        if (event.type === "renew" && record !== null) lockedUntil.set(event.attemptId, record.attempt.lockedUntil);
        // A result or a refusal is the attempt's last word; an ambiguous one may still be at work.
        if (event.type === "result" || event.type === "refused") lockedUntil.delete(event.attemptId);
      }
    });
  });

  it("lets only the owner end or renew a record", () => {
    checkHistories((taken) => {
      for (const { event, before, record, reply } of taken) {
        if (event.type === "request" || event.type === "look") continue;
        if (before?.attempt.id !== event.attemptId) {
          expect(reply.type).toBe("superseded");
          if (record !== null) expect(record).toBe(before);
        }
      }
    });
  });

  it("never changes a completed record before it expires, whatever comes", () => {
    checkHistories((taken) => {
      for (const { before, record, now } of taken) {
        if (before?.state === "completed" && now < before.expiresAt) expect(record).toBe(before);
      }
    });
  });

  it("never starts again under hold, unless the origin refused or the record expired", () => {
    checkHistories((taken) => {
      let forbiddenUntil = 0;
      for (const { event, reply, record, now } of taken) {
        if (reply.type === "start") {
          expect(now).toBeGreaterThanOrEqual(forbiddenUntil);
          forbiddenUntil = Number.POSITIVE_INFINITY;
        }
        if (reply.type === "settled" && event.type === "refused") forbiddenUntil = 0;
        if (record === null) forbiddenUntil = 0;
        else if (record.state !== "started") forbiddenUntil = Math.min(forbiddenUntil, record.expiresAt);
        else forbiddenUntil = record.attempt.lockedUntil + record.policy.retentionMs;
      }
    }, "hold");
  });

  it("leaves the same behind whether or not an alarm looked in between", () => {
    fc.assert(
      fc.property(
        history,
        fc.array(fc.nat(25), { maxLength: 8 }),
        fc.constantFrom(...policies),
        (moments, looks, unknown) => {
          const events = play(
            moments.filter(({ happening }) => happening.type !== "look"),
            unknown,
          );
          // The same events at the same times, with looks strewn in between.
          let record = null;
          for (const [index, { event, policy, now, reply }] of events.entries()) {
            const before = events[index - 1]?.now ?? now;
            for (const _ of looks.filter((at) => at === index)) {
              ({ record } = step(record, { type: "look" }, policy, epochMs(Math.floor((before + now) / 2))));
              ({ record } = step(record, { type: "look" }, policy, now));
            }
            const looked = step(record, event, policy, now);
            expect(looked.reply).toEqual(reply);
            ({ record } = looked);
          }
          const last = events.at(-1);
          if (last === undefined) return;
          const look = { type: "look" } as const;
          expect(step(record, look, last.policy, last.now).record).toEqual(
            step(last.record, look, last.policy, last.now).record,
          );
        },
      ),
      RUNS,
    );
  });

  it("never touches a record on a mismatch, and checks for it in every state", () => {
    checkHistories((taken) => {
      for (const { event, before, record, reply, now, policy } of taken) {
        if (event.type !== "request" || before === null) continue;
        const alive = step(before, { type: "look" }, policy, now).record !== null;
        const differs = event.fingerprint !== before.fingerprint;
        expect(reply.type === "mismatch").toBe(alive && differs);
        if (reply.type === "mismatch") expect(record).toBe(before);
      }
    });
  });

  it("numbers the attempts of one record 1, 2, 3 …", () => {
    checkHistories((taken) => {
      let last = 0;
      for (const { before, reply, now, policy } of taken) {
        if (reply.type !== "start") continue;
        const { number } = reply.record.attempt;
        const alive = before !== null && step(before, { type: "look" }, policy, now).record !== null;
        expect(number).toBe(alive ? last + 1 : 1);
        last = number;
      }
    });
  });

  it("gives every record a deadline, and nothing outlives two of them untouched", () => {
    checkHistories((taken) => {
      for (const { record, deadline, policy } of taken) {
        expect(deadline).toBe(record === null ? null : deadlineOf(record));
        let left = record;
        for (let looks = 0; left !== null && looks < 2; looks++)
          left = step(left, { type: "look" }, policy, deadlineOf(left)).record;
        expect(left).toBeNull();
      }
    });
  });

  it("returns the very same record when nothing changed, so that nothing is written", () => {
    checkHistories((taken) => {
      for (const { before, record, reply } of taken) {
        if (
          ["in-flight", "replay", "not-kept", "outcome-unknown", "mismatch", "superseded"].includes(reply.type) &&
          record !== null
        ) {
          expect(record).toBe(before);
        }
      }
    });
  });

  it("lets a late result of the same attempt settle what is not yet retried", () => {
    for (const unknown of policies) {
      const policy = policyFor(unknown);
      checkHistories((taken) => {
        const last = taken.at(-1);
        const record = last?.record ?? null;
        if (last === undefined || record === null || record.state === "completed") return;
        const settled = step(
          record,
          { type: "result", attemptId: record.attempt.id, status: 200, kept: true },
          policy,
          last.now,
        );
        const alive = step(record, { type: "look" }, policy, last.now).record !== null;
        expect(settled.record?.state).toBe(alive ? "completed" : undefined);
      }, unknown);
    }
  });
});
