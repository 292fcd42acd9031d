import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { step } from "../../../src/kernel/record/life-cycle.ts";
import { deadlineOf } from "../../../src/kernel/record/step.ts";
import { type ExpiringRecord, isAbandoned, type Policy } from "../../../src/kernel/record/record.ts";
import { epochMs } from "../../../src/kernel/record/units.ts";
import {
  history,
  LOCK_MS,
  type Moment,
  operatedHistory,
  play,
  policyFor,
  REMEMBER_MS,
  RETENTION_MS,
  UNKNOWN_RETENTION_MS,
  type Taken,
} from "../../support/life-cycle-history.ts";

const RUNS = { numRuns: 3000 };
const memories = fc.constantFrom(undefined, ...REMEMBER_MS);
const refusals = fc.constantFrom(undefined, "any" as const);
const policies: readonly Policy["unknown"][] = ["retry", "hold", "verify"];

function checkHistories(
  check: (taken: readonly Taken[], moments: readonly Moment[]) => void,
  unknown?: Policy["unknown"],
  histories = history,
): void {
  fc.assert(
    fc.property(histories, memories, refusals, (moments, rememberMs, afterRefusal) => {
      check(play(moments, unknown, rememberMs, afterRefusal), moments);
    }),
    RUNS,
  );
}

/** When the memory of what has settled a record or left it unknown ends. It begins with the record's own retention. */
function rememberedUntil({ policy, ...record }: ExpiringRecord): number {
  const keptMs = record.state === "unknown" ? UNKNOWN_RETENTION_MS : RETENTION_MS;
  return record.expiresAt - keptMs + (policy.rememberMs ?? keptMs);
}

describe("life cycle over any history", () => {
  it.each([
    ["the one before was refused, or its lock has ended", history],
    ["whatever operators decide", operatedHistory],
  ])("starts an attempt only when none is in flight: %s", (_name, histories) => {
    checkHistories(
      (taken) => {
        const lockedUntil = new Map<string, number>();
        for (const { event, reply, record, now } of taken) {
          if (reply.type === "start") {
            for (const until of lockedUntil.values()) expect(until).toBeLessThanOrEqual(now);
            lockedUntil.set(reply.record.attempt.id, reply.record.attempt.lockedUntil);
          }
          if (reply.type === "abandoned")
            for (const until of lockedUntil.values()) expect(until).toBeLessThanOrEqual(now);
          if (reply.type !== "settled" || !("attemptId" in event)) continue;
          if (event.type === "renew" && record !== null) lockedUntil.set(event.attemptId, record.attempt.lockedUntil);
          // A result or a refusal ends the attempt. After an ambiguous answer it may still run, also when the origin
          // has reported no effect yet.
          if (event.type === "result" || event.type === "refused") lockedUntil.delete(event.attemptId);
        }
      },
      undefined,
      histories,
    );
  });

  it("lets only the owner end or renew a record", () => {
    checkHistories((taken) => {
      for (const { event, before, record, reply } of taken) {
        if (!("attemptId" in event) || event.type === "request" || event.type === "claim") continue;
        if (before?.attempt.id !== event.attemptId) {
          expect(reply.type).toBe("superseded");
          if (record !== null) expect(record).toBe(before);
        }
      }
    });
  });

  it("never changes a completed record before it expires, whatever the events", () => {
    checkHistories((taken) => {
      for (const { before, record, now } of taken) {
        if (before?.state === "completed" && now < before.expiresAt) expect(record).toBe(before);
      }
    });
  });

  it("never replaces a first answer through operators' decisions, except forget", () => {
    checkHistories(
      (taken) => {
        for (const { before, record, event, now } of taken) {
          if (before?.state !== "completed" || now >= before.expiresAt) continue;
          if (event.type === "forget") expect([before, null]).toContain(record);
          else expect(record).toBe(before);
        }
      },
      undefined,
      operatedHistory,
    );
  });

  it("starts nothing after a result, for as long as its key is remembered, whatever else happens", () => {
    checkHistories(
      (taken) => {
        let forbiddenUntil = 0;
        for (const { event, reply, record, now } of taken) {
          if (reply.type === "start" || reply.type === "abandoned") expect(now).toBeGreaterThanOrEqual(forbiddenUntil);
          if (reply.type === "settled" && event.type === "result" && record?.state === "completed") {
            forbiddenUntil = rememberedUntil(record);
          }
          if (reply.type === "changed" && event.type === "resolve" && record?.state === "completed") {
            forbiddenUntil = rememberedUntil(record);
          }
          if (reply.type === "changed" && event.type === "forget") forbiddenUntil = 0;
        }
      },
      undefined,
      operatedHistory,
    );
  });

  it("starts nothing after its client has given the key up, for as long as that is kept, unless an operator forgets it", () => {
    checkHistories(
      (taken) => {
        let forbiddenUntil = 0;
        for (const { event, reply, record, before, now } of taken) {
          if (reply.type === "start") expect(now).toBeGreaterThanOrEqual(forbiddenUntil);
          if (reply.type === "abandoned") {
            expect(record).toMatchObject({ state: "remembered", attempt: { mayHaveActed: false } });
            if (record?.state === "remembered") forbiddenUntil = record.expiresAt;
            if (record !== before) expect(forbiddenUntil).toBe(now + RETENTION_MS);
          }
          if (event.type === "request" && now < forbiddenUntil) expect(reply.type).toBe("key-expired");
          if (reply.type === "changed" && event.type === "forget") forbiddenUntil = 0;
        }
      },
      undefined,
      operatedHistory,
    );
  });

  it("takes no request for a first one while an attempt of its key may have acted and is remembered", () => {
    checkHistories(
      (taken) => {
        let unknownUntil = 0;
        for (const { event, reply, before, record, now } of taken) {
          if (reply.type === "start" && reply.record.attempt.number === 1) {
            expect(now).toBeGreaterThanOrEqual(unknownUntil);
            unknownUntil = 0;
          }
          if (reply.type === "abandoned") expect(now).toBeGreaterThanOrEqual(unknownUntil);
          const isOpen = record?.state === "failed" || record?.state === "unknown";
          const isLost = before?.state === "started" && event.type !== "refused" && event.type !== "release";
          if (isOpen && isLost && event.type !== "absent") unknownUntil = rememberedUntil(record);
          if (record?.state === "completed" || (reply.type === "changed" && event.type !== "resolve")) unknownUntil = 0;
          if (reply.type === "settled" && event.type === "absent" && record?.state === "failed") unknownUntil = 0;
          // An attempt that is still heard of begins a new time.
          if (unknownUntil > 0 && isOpen && record !== before) unknownUntil = rememberedUntil(record);
        }
      },
      undefined,
      operatedHistory,
    );
  });

  it("starts again under hold only when the origin refused, the record expired, or an operator allowed it", () => {
    checkHistories(
      (taken) => {
        let isForbidden = false;
        for (const { event, reply, before, now } of taken) {
          const hasExpired = before === null || ("expiresAt" in before && before.expiresAt <= now);
          if (reply.type === "start") {
            const lostUntil = (before?.attempt.lockedUntil ?? 0) + UNKNOWN_RETENTION_MS;
            expect(isForbidden && !hasExpired && now < lostUntil).toBe(false);
            isForbidden = true;
          }
          if (reply.type === "settled" && event.type === "refused") isForbidden = false;
          if (reply.type === "changed" && event.type !== "resolve") isForbidden = false;
        }
      },
      "hold",
      operatedHistory,
    );
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
        else if ("expiresAt" in record) forbiddenUntil = Math.min(forbiddenUntil, record.expiresAt);
        else forbiddenUntil = record.attempt.lockedUntil + record.policy.unknownRetentionMs;
      }
    }, "hold");
  });

  it("starts again under verify only when the origin, asked after the lock and the time that reads may lag, reported no effect", () => {
    checkHistories((taken) => {
      let forbiddenUntil = 0;
      for (const { event, reply, record, before, now } of taken) {
        if (reply.type === "start") {
          expect(now).toBeGreaterThanOrEqual(forbiddenUntil);
          forbiddenUntil = Number.POSITIVE_INFINITY;
        }
        if (reply.type === "settled" && event.type === "refused") forbiddenUntil = 0;
        const locked = before?.attempt.lockedUntil ?? Number.POSITIVE_INFINITY;
        if (reply.type === "settled" && event.type === "absent" && event.verifiedAt >= locked + (event.settleMs ?? 0))
          forbiddenUntil = 0;
        if (record === null) forbiddenUntil = 0;
        else if (record.state === "completed" || record.state === "unknown") {
          forbiddenUntil = Math.min(forbiddenUntil, record.expiresAt);
        } else if (record.state === "started") forbiddenUntil = record.attempt.lockedUntil + UNKNOWN_RETENTION_MS;
      }
    }, "verify");
  });

  it("is not due later than when a report of no effect begins to count", () => {
    checkHistories((taken) => {
      for (const { event, reply, before, now } of taken) {
        if (reply.type !== "verify" || event.type !== "verify") continue;
        const { verifyAt, attempt, expiresAt, verifications } = reply.record;
        // It was not due: a duplicate asks besides.
        if (before?.state === "unknown" && before.verifications === verifications) continue;
        const countsFrom = attempt.lockedUntil + (event.settleMs ?? 0);
        if (now < countsFrom) expect(verifyAt ?? 0).toBeLessThanOrEqual(Math.min(countsFrom, expiresAt));
      }
    }, "verify");
  });

  it("asks about an unknown outcome only under verify, and less and less often", () => {
    checkHistories((taken) => {
      for (const { event, reply, before, record, now } of taken) {
        if (event.type !== "verify") continue;
        expect(reply.type === "verify").toBe(record?.state === "unknown" && record.verifyAt !== null);
        if (reply.type !== "verify") continue;
        expect(deadlineOf(reply.record)).toBeGreaterThan(now);
        const due = before?.state === "unknown" ? before.verifyAt : before?.attempt.lockedUntil;
        const asked = before?.state === "unknown" ? before.verifications : 0;
        expect(reply.record.verifications).toBe(now >= (due ?? 0) ? asked + 1 : asked);
      }
    });
  });

  it("never starts an attempt under the id of the one before", () => {
    checkHistories((taken) => {
      for (const { record, policy, now } of taken) {
        if (record === null) continue;
        const again = {
          type: "request",
          fingerprint: record.fingerprint,
          attemptId: record.attempt.id,
        } as const;
        const alive = step(record, { type: "tick" }, policy, now).record !== null;
        if (alive) expect(step(record, again, policy, now).reply.type).not.toBe("start");
      }
    });
  });

  it("leaves the same record whether or not an alarm came in between", () => {
    fc.assert(
      fc.property(
        operatedHistory,
        fc.array(fc.nat(25), { maxLength: 8 }),
        fc.constantFrom(...policies),
        memories,
        (moments, looks, unknown, rememberMs) => {
          const events = play(
            moments.filter(({ event }) => event.type !== "tick"),
            unknown,
            rememberMs,
          );
          // The same events at the same times, with alarms in between.
          let record = null;
          for (const [index, { event, policy, now, reply }] of events.entries()) {
            const before = events[index - 1]?.now ?? now;
            for (const _ of looks.filter((at) => at === index)) {
              ({ record } = step(record, { type: "tick" }, policy, epochMs(Math.floor((before + now) / 2))));
              ({ record } = step(record, { type: "tick" }, policy, now));
            }
            const looked = step(record, event, policy, now);
            expect(looked.reply).toEqual(reply);
            ({ record } = looked);
          }
          const last = events.at(-1);
          if (last === undefined) return;
          const tick = { type: "tick" } as const;
          expect(step(record, tick, last.policy, last.now).record).toEqual(
            step(last.record, tick, last.policy, last.now).record,
          );
        },
      ),
      RUNS,
    );
  });

  it("never touches a record for a reused key, and checks for it in every state but that of an abandoned key", () => {
    checkHistories((taken) => {
      for (const { event, before, record, reply, now, policy } of taken) {
        if (event.type !== "request" || before === null || isAbandoned(before)) continue;
        const alive = step(before, { type: "tick" }, policy, now).record !== null;
        const differs = event.fingerprint !== before.fingerprint;
        const isUndone = before.state === "failed" && !before.attempt.mayHaveActed;
        const isTaken = policy.afterRefusal === "any" && isUndone;
        expect(reply.type === "key-reused").toBe(alive && differs && !isTaken);
        if (reply.type === "key-reused") expect(record).toBe(before);
      }
    });
  });

  it("takes another request as the next attempt only where that is allowed, and when no attempt of the key may have acted", () => {
    let times = 0;
    checkHistories(
      (taken) => {
        // An attempt that has begun may have acted, until it is known that it has not.
        let mayHaveActed = false;
        let isRunning = false;
        for (const { event, reply, before, record, policy } of taken) {
          if (reply.type === "start") {
            const isNext = reply.record.attempt.number > 1;
            if (isNext && before !== null && before.fingerprint !== reply.record.fingerprint) {
              expect(policy.afterRefusal).toBe("any");
              expect([mayHaveActed, isRunning]).toEqual([false, false]);
              times += 1;
            }
            mayHaveActed = isNext && (mayHaveActed || isRunning);
            isRunning = true;
          }
          if (reply.type === "settled" && event.type === "refused") isRunning = false;
          if (reply.type === "settled" && event.type === "ambiguous") isRunning = true;
          if (reply.type === "settled" && event.type === "renew") isRunning = true;
          const isAbsent = reply.type === "settled" && event.type === "absent" && record?.state === "failed";
          // Whoever releases a record whose outcome is unknown has decided that nothing took effect.
          const isReleased = reply.type === "changed" && event.type === "release" && record?.policy.unknown !== "retry";
          if (isAbsent || isReleased || record === null) [mayHaveActed, isRunning] = [false, false];
        }
      },
      undefined,
      operatedHistory,
    );
    expect(times).toBeGreaterThan(0);
  });

  it("numbers the attempts of one record 1, 2, 3 …", () => {
    checkHistories((taken) => {
      let last = 0;
      for (const { before, reply, now, policy } of taken) {
        if (reply.type !== "start") continue;
        const { number } = reply.record.attempt;
        const alive = before !== null && step(before, { type: "tick" }, policy, now).record !== null;
        expect(number).toBe(alive ? last + 1 : 1);
        last = number;
      }
    });
  });

  it("gives every record a deadline, and none outlives three deadlines untouched", () => {
    checkHistories((taken) => {
      for (const { record, deadline, policy } of taken) {
        expect(deadline).toBe(record === null ? null : deadlineOf(record));
        let left = record;
        // A record under verify keeps asking until it expires.
        const asks = (one: typeof record): boolean => one?.state === "unknown" && one.verifyAt !== null;
        let deadlines = 0;
        for (let looks = 0; left !== null && looks < 99; looks++) {
          if (!asks(left)) deadlines += 1;
          const at = deadlineOf(left);
          left = step(left, { type: asks(left) ? "verify" : "tick" }, policy, at).record;
        }
        expect(left).toBeNull();
        expect(deadlines).toBeLessThanOrEqual(3);
      }
    });
  });

  it("returns the same object when nothing changed, so that nothing is written", () => {
    checkHistories((taken) => {
      for (const { before, record, reply } of taken) {
        if (
          ["in-flight", "replay", "not-kept", "outcome-unknown", "key-expired", "key-reused", "superseded"].includes(
            reply.type,
          ) &&
          record !== null
        ) {
          expect(record).toBe(before);
        }
      }
    });
  });

  it("lets a late result of the same attempt settle a record that was not yet retried", () => {
    for (const unknown of policies) {
      const policy = policyFor(unknown);
      checkHistories((taken) => {
        const last = taken.at(-1);
        const record = last?.record ?? null;
        if (last === undefined || record === null || record.state === "completed") return;
        const settled = step(
          record,
          { type: "result", attemptId: record.attempt.id, status: 200, kept: true, verified: false },
          policy,
          last.now,
        );
        const { record: left } = step(record, { type: "tick" }, policy, last.now);
        const isExpired = left === null || left.state === "remembered";
        expect(settled.record?.state).toBe(isExpired ? (left === null ? undefined : record.state) : "completed");
      }, unknown);
    }
  });
});

describe("life cycle for the alarm", () => {
  it.each([
    ["whatever owners say, also more than once", history],
    ["whatever operators decide", operatedHistory],
  ])("leaves no passed deadline, except that of a due question: %s", (_name, histories) => {
    checkHistories(
      (taken) => {
        for (const { before, record, deadline, now, policy } of taken) {
          if (record === null || record === before) continue;
          expect(deadline).toBe(deadlineOf(record));
          if ("expiresAt" in record) expect(record.expiresAt).toBeGreaterThan(now);
          const isDue = record.state === "unknown" && record.verifyAt !== null && record.verifyAt <= now;
          if (!isDue) expect(deadline).toBeGreaterThan(now);
          // Then the question moves the deadline.
          else expect(step(record, { type: "verify" }, policy, now).deadline).toBeGreaterThan(now);
        }
      },
      undefined,
      histories,
    );
  });

  it("schedules the next question about an unknown outcome no later than its expiry", () => {
    checkHistories((taken) => {
      for (const { record } of taken) {
        if (record?.state === "unknown" && record.verifyAt !== null) {
          expect(record.verifyAt).toBeLessThanOrEqual(record.expiresAt);
        }
      }
    }, "verify");
  });

  // All events of one attempt, in every order, at every time around its lock's end and its expiry.
  it.each(policies)("stays consistent for every three events of one attempt: %s", (unknown) => {
    const words = ["result", "refused", "ambiguous", "renew", "absent"] as const;
    const keptMs = unknown === "retry" ? RETENTION_MS : UNKNOWN_RETENTION_MS;
    const moments = [0, 1, LOCK_MS - 1, LOCK_MS, LOCK_MS + keptMs - 1, LOCK_MS + keptMs].map(
      (by): Moment["passing"] => ({ by }),
    );
    const said = words.flatMap((type) =>
      moments.map((passing): Moment => {
        const event = type === "absent" ? { type, attemptsAgo: 0, askedAgo: 0 } : { type, attemptsAgo: 0 };
        return { passing, event };
      }),
    );
    const request: Moment = { passing: { by: 0 }, event: { type: "request", other: false, unknown } };
    let held = 0;
    for (const one of said) {
      for (const two of said) {
        for (const three of said) {
          for (const { before, record, deadline, now } of play([request, one, two, three], unknown)) {
            if (record === null || record === before) continue;
            const isDue = record.state === "unknown" && record.verifyAt !== null;
            if (deadline !== null && (deadline > now || isDue)) held += 1;
            else throw new Error(JSON.stringify({ one, two, three, record, now }));
          }
        }
      }
    }
    expect(held).toBeGreaterThan(30 ** 3);
  });
});
