// What becomes of a decision about one record: every way in which the record can have gone on since somebody looked into it.

import { describe, expect, it } from "vitest";
import { type DecidedAbout, recordOutcome } from "../../../../src/features/decisions/object/record-outcome.ts";
import type { OperatorChange, TimelineEvent } from "../../../../src/kernel/record/timeline.ts";
import { attemptId, epochMs } from "../../../../src/kernel/record/units.ts";

const SINCE = epochMs(10_000);
const [BEFORE, AFTER] = [epochMs(9_000), epochMs(11_000)];

function attempt(startedAt: number, endedAt: number | null): TimelineEvent {
  const ended = endedAt === null ? null : epochMs(endedAt);
  const end = { verdict: ended === null ? null : "ambiguous", reason: null, status: null } as const;
  return { type: "attempt", attempt: 1, startedAt: epochMs(startedAt), endedAt: ended, ...end };
}

function change(action: OperatorChange, at: number): TimelineEvent {
  return { type: "change", action, at: epochMs(at), by: "ann", reason: "seen" };
}

function about(more: Partial<DecidedAbout> = {}, state: DecidedAbout["record"]["state"] = "unknown"): DecidedAbout {
  const last = { id: attemptId("a"), number: 1, startedAt: BEFORE, lockedUntil: BEFORE, mayHaveActed: true };
  return {
    record: { state, attempt: last },
    timeline: [attempt(BEFORE, BEFORE)],
    hasResponse: false,
    whyNot: null,
    ...more,
  };
}

describe("a decision about one record", () => {
  it.each(["release", "resolve", "forget"] as const)("is carried out if nothing has happened since: %s", (action) => {
    expect(recordOutcome(about(), action, SINCE)).toBe("changed");
    expect(recordOutcome(about({ timeline: [attempt(BEFORE, SINCE), change("release", BEFORE)] }), action, SINCE)).toBe(
      "changed",
    );
  });

  it.each(["in-flight", "completed", "remembered"] as const)("is refused as the record's own is: %s", (whyNot) => {
    expect(recordOutcome(about({ whyNot }), "release", SINCE)).toBe(whyNot);
  });

  it("leaves what has begun or ended since", () => {
    const begun = about();
    const later = { ...begun.record, attempt: { ...begun.record.attempt, startedAt: AFTER } };
    expect(recordOutcome({ ...begun, record: later }, "release", SINCE)).toBe("began-since");
    expect(recordOutcome(about({ timeline: [attempt(BEFORE, AFTER)] }), "release", SINCE)).toBe("ended-since");
    // It runs, so the refusal says more.
    expect(
      recordOutcome(about({ timeline: [attempt(BEFORE, null)], whyNot: "in-flight" }, "started"), "release", SINCE),
    ).toBe("in-flight");
  });

  it("is not carried out twice, also after the next attempt has begun", () => {
    const released = about({ timeline: [attempt(BEFORE, BEFORE), change("release", SINCE)] }, "failed");
    expect(recordOutcome(released, "release", SINCE)).toBe("already");
    const retried = about(
      { timeline: [...released.timeline, attempt(AFTER, AFTER)], whyNot: "completed" },
      "completed",
    );
    expect(recordOutcome(retried, "release", SINCE)).toBe("already");
    const resolved = about(
      { timeline: [change("resolve", AFTER)], hasResponse: true, whyNot: "completed" },
      "completed",
    );
    expect(recordOutcome(resolved, "resolve", SINCE)).toBe("already");
  });

  it("gives way to what an operator has decided otherwise since", () => {
    const released = about({ timeline: [change("release", AFTER)] }, "failed");
    expect(recordOutcome(released, "resolve", SINCE)).toBe("decided-since");
    expect(recordOutcome(released, "forget", SINCE)).toBe("decided-since");
    const otherResponse = about({ timeline: [change("resolve", AFTER)], whyNot: "completed" }, "completed");
    expect(recordOutcome(otherResponse, "resolve", SINCE)).toBe("decided-since");
    const both = about(
      { timeline: [change("release", AFTER), change("resolve", AFTER)], hasResponse: true },
      "completed",
    );
    expect(recordOutcome(both, "release", SINCE)).toBe("decided-since");
    expect(recordOutcome(both, "resolve", SINCE)).toBe("already");
  });

  it("has nothing to do where the response is there already, whoever gave it and whenever", () => {
    const done = about({ hasResponse: true, whyNot: "completed" }, "completed");
    expect(recordOutcome(done, "resolve", SINCE)).toBe("already");
    expect(recordOutcome(done, "release", SINCE)).toBe("completed");
    // A cancellation by the client is no operator's decision.
    const cancelled: TimelineEvent = { type: "change", action: "cancel", at: AFTER, by: "client", reason: "" };
    expect(recordOutcome(about({ timeline: [cancelled] }), "release", SINCE)).toBe("changed");
  });
});
