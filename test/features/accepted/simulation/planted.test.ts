// Does the simulation see anything of accepted requests? As ../planted.test.ts.

import { describe, it, vi } from "vitest";
import { expectFound, expectViolation, original, plantStep } from "../../../simulation/plant.ts";
import { explore } from "../../../simulation/explore.ts";
import { extrasOf } from "../../../simulation/plan.ts";
import { ObjectAlarm } from "../../../../src/kernel/object/alarm.ts";
import { AcceptedAttempts } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import { DueRequests } from "../../../../src/kernel/store/due-records.ts";
import { type RecordContent, RecordRows } from "../../../../src/kernel/store/record-rows.ts";

/** Writes other contents than those that are to be written. */
function plantRows(broken: (row: RecordContent) => RecordContent): void {
  const put = original(RecordRows.prototype, "put");
  vi.spyOn(RecordRows.prototype, "put").mockImplementation(function wrong(this: RecordRows, id, before, bucket, row) {
    return put.call(this, id, before, bucket, broken(row));
  });
}

describe("an accepted request", () => {
  it("that is erased before its last attempt breaks G10", async () => {
    plantRows((row) => (row.acceptanceWrite === "keep" ? { ...row, acceptanceWrite: "accept", request: null } : row));
    await expectFound(/G10: r\d \(\w+\) has lost its request/, "accepted");
  });

  it("that stays with its credential after its result breaks G10", async () => {
    plantRows((row) => (row.acceptanceWrite === "end" ? { ...row, acceptanceWrite: "keep" } : row));
    await expectFound(/G10: r\d \(\w+\) still has its request/, "accepted");
  });

  it("that waits and is started twice breaks G1", async () => {
    const first = original(DueRequests.prototype, "first");
    let before: ReturnType<typeof first> = [];
    vi.spyOn(DueRequests.prototype, "first").mockImplementation(function twice(this: DueRequests, ...taken) {
      const due = first.apply(this, taken);
      const all = [...due, ...before];
      if (due.length > 0) before = due;
      return all;
    });
    const lanes = original(DueRequests.prototype, "lanes");
    vi.spyOn(DueRequests.prototype, "lanes").mockImplementation(function never(this: DueRequests) {
      const heads = lanes.call(this);
      return [...heads, ...heads.slice(0, 1).map(({ at }) => ({ lane: -1, at }))];
    });
    plantStep((actual, record, event, now) => {
      if (event.type !== "due" || record.state !== "started" || record.accepted === undefined) return null;
      const { fingerprint, attempt, policy, accepted } = record;
      const waiting = { state: "waiting", fingerprint, attempt, policy, accepted, startAt: now } as const;
      return actual(waiting, event, policy, now);
    });
    await expectFound(/G1: id\d+ starts after \w+, which is still in flight/, "accepted");
  });

  it("that waits in a place that nobody frees breaks G8 or G10", async () => {
    const enter = original(AcceptedAttempts.prototype, "enter");
    vi.spyOn(AcceptedAttempts.prototype, "enter").mockImplementation(function taken(this: AcceptedAttempts) {
      return { ...enter.call(this), leave: () => undefined };
    });
    await expectFound(/G10: the accepted request of r\d has no end|G8: the alarm is set to \d+, but/, "accepted");
  });

  it("that gets a place although all are taken breaks G8", async () => {
    vi.spyOn(AcceptedAttempts.prototype, "hasPlace", "get").mockReturnValue(true);
    await expectFound(/G8: a\d+ starts beside 4 others, and there are 4 places/, "accepted");
  });

  it("whose attempts are not counted breaks G10", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "refused" || record.state !== "started" || record.accepted === undefined) return null;
      const { accepted } = record;
      const more = { ...record, accepted: { ...accepted, lastAttempt: record.attempt.number + 1 } };
      return actual(more, event, record.policy, now);
    });
    await expectFound(/G10: r\d promises attempts up to \d+, and up to \d+ before/, "accepted");
  });

  it("that is given up after its first refusal breaks G10", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "refused" || !("accepted" in record)) return null;
      const { accepted: _promise, ...alone } = record;
      return actual(alone.state === "started" ? alone : record, event, record.policy, now);
    });
    await expectFound(/G10: r\d is given up after attempt 1 of 3/, "accepted");
  });
});

describe("a monitor", () => {
  it("that cancels an attempt in flight breaks G10", async () => {
    plantStep((_actual, record, { type }) =>
      type === "cancel" && record.state === "started"
        ? { record: null, reply: { type: "changed" }, deadline: null }
        : null,
    );
    await expectFound(/G10: r\d is cancelled, but a\d+ may be in flight/, "accepted");
  });

  it("that compares no fingerprint breaks G7", async () => {
    plantStep((actual, record, event, now) =>
      event.type === "look" ? actual(record, { ...event, fingerprintPrefix: "" }, record.policy, now) : null,
    );
    await expectFound(/G7: monitor \d+ hears .*, which answers another request/, "accepted");
  });

  it("that has forgotten what was accepted breaks G10", async () => {
    plantStep((_actual, record, { type }) =>
      type === "look" && record.state === "failed" ? { record, reply: { type: "unseen" }, deadline: null } : null,
    );
    await expectFound(/G10: monitor \d+ hears that there is no such request, but it was accepted/, "accepted");
  });
});

describe("what a clock that was ahead has put off", () => {
  it("stays there if nobody looks for it, and breaks G8", async () => {
    vi.spyOn(ObjectAlarm.prototype, "isClockUncertain").mockReturnValue(false);
    // It takes a clock that goes ahead during an attempt which is refused then. With this seed one comes early.
    const found = await explore(500, 2, () => undefined, extrasOf(["jumps", "accepted"]));
    expectViolation(found, /G8: r\d \(waiting\) starts in \d+ ms, which a clock that was ahead/);
  });
});
