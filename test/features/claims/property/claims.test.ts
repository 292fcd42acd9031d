// Claims over any history: what a lease is, whatever happens in between.

import fc from "fast-check";
import { expect, it } from "vitest";
import { claimWord } from "../../../../src/kernel/record/claim.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import { operatedHistory, play, type Taken } from "../../../support/life-cycle-history.ts";

function checkHistories(check: (taken: readonly Taken[]) => void): void {
  fc.assert(
    fc.property(operatedHistory, (moments) => check(play(moments))),
    { numRuns: 3000 },
  );
}

it("grants an attempt again only while it has the lock, and changes nothing by that", () => {
  let times = 0;
  checkHistories((taken) => {
    for (const { event, reply, before, record, now } of taken) {
      if (reply.type !== "granted-again") continue;
      times += 1;
      expect(event).toMatchObject({ type: "claim", attemptId: before?.attempt.id });
      expect(record).toBe(before);
      expect(reply.record.attempt.lockedUntil).toBeGreaterThan(now);
    }
  });
  expect(times).toBeGreaterThan(100);
});

it("never makes a second attempt of the id of an ended one, unless the record was erased", () => {
  checkHistories((taken) => {
    let used = new Set<string>();
    for (const { reply, record } of taken) {
      if (reply.type === "start" && reply.record.attempt.number > 1)
        expect(used).not.toContain(reply.record.attempt.id);
      if (reply.type === "start") used.add(reply.record.attempt.id);
      if (record === null) used = new Set();
    }
  });
});

it("is treated as a request but for that", () => {
  checkHistories((taken) => {
    for (const { event, reply, before, record, policy, now } of taken) {
      if (event.type !== "claim" || reply.type === "granted-again") continue;
      const { note: _, ...rest } = event;
      const asked = step(before, { ...rest, type: "request" }, policy, now);
      expect({ record, reply }).toEqual({ record: asked.record, reply: asked.reply });
    }
  });
});

it("keeps the lock for which it was claimed through every extension", () => {
  checkHistories((taken) => {
    for (const { event, reply, before, record, now } of taken) {
      if (event.type !== "renew" || reply.type !== "settled" || before === null || record === null) continue;
      expect(record.attempt.lockedUntil).toBe(now + before.policy.lockMs);
    }
  });
});

it("has an answer for each reply that a claim can get", () => {
  const states = new Set<string>();
  checkHistories((taken) => {
    for (const { event, reply, now } of taken) if (event.type === "claim") states.add(claimWord(reply, now).state);
  });
  expect([...states].toSorted()).toEqual(["completed", "granted", "in-flight", "mismatch", "unknown"]);
});
