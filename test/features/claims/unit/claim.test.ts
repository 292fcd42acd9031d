import { describe, expect, it } from "vitest";
import { isCompletedBy, mayExtend } from "../../../../src/kernel/record/claim.ts";
import type { LifeCycleEvent } from "../../../../src/kernel/record/events.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { type TimelineEvent, updateHistory } from "../../../../src/kernel/record/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../../../src/kernel/record/units.ts";

const LOCK_MS = 40;
const [A, B] = [attemptId("a"), attemptId("b")];

const claim = (id: typeof A): LifeCycleEvent => ({
  type: "claim",
  fingerprint: fingerprint("f"),
  attemptId: id,
  note: { holder: null, position: null },
});
const released: LifeCycleEvent = { type: "refused", attemptId: A, reason: { kind: "status", status: 503 } };
const unsure: LifeCycleEvent = { type: "ambiguous", attemptId: A, reason: { kind: "timed-out" } };
const completed: LifeCycleEvent = { type: "result", attemptId: A, status: 201, kept: true, verified: false };
const resolved: LifeCycleEvent = { type: "resolve", status: 201, by: "admin", reason: "seen" };
const tick: LifeCycleEvent = { type: "tick" };

/** A record that the first attempt has claimed, after these events. */
function after(
  unknown: "hold" | "retry",
  ...events: readonly (readonly [at: number, event: LifeCycleEvent])[]
): readonly [IdempotencyRecord | null, readonly TimelineEvent[]] {
  const [lockMs, retentionMs] = [durationMs(LOCK_MS), durationMs(1000)];
  const policy = { unknown, lockMs, retentionMs, unknownRetentionMs: retentionMs };
  let record: IdempotencyRecord | null = null;
  let history: readonly TimelineEvent[] = [];
  for (const [at, event] of [[0, claim(A)] as const, ...events]) {
    const next = step(record, event, policy, epochMs(at));
    if (next.record !== record) history = updateHistory(history, record, event, next.record, epochMs(at));
    ({ record } = next);
  }
  return [record, history];
}

describe("an attempt may extend its lock", () => {
  it.each(["hold", "retry"] as const)("while it has it, and after its end if nobody has begun (%s)", (unknown) => {
    expect(mayExtend(...after(unknown), A)).toBe(true);
    expect(mayExtend(...after(unknown, [LOCK_MS + 1, tick]), A)).toBe(true);
  });

  it("but not after its own release, whatever it said of the effect", () => {
    expect(mayExtend(...after("retry", [5, released]), A)).toBe(false);
    expect(mayExtend(...after("retry", [5, unsure]), A)).toBe(false);
    expect(mayExtend(...after("hold", [5, unsure]), A)).toBe(false);
  });

  it("nor another's, nor where there is none, nor after a result", () => {
    expect(mayExtend(...after("retry", [LOCK_MS + 1, claim(B)]), A)).toBe(false);
    expect(mayExtend(null, [], A)).toBe(false);
    expect(mayExtend(...after("hold", [5, completed]), A)).toBe(false);
  });
});

describe("a record is completed by an attempt", () => {
  it("that has given its result, and not by another or by an operator", () => {
    expect(isCompletedBy(...after("hold", [5, completed]), A)).toBe(true);
    expect(isCompletedBy(...after("hold", [5, completed]), B)).toBe(false);
    expect(isCompletedBy(...after("hold", [5, unsure], [6, resolved]), A)).toBe(false);
    expect(isCompletedBy(...after("hold"), A)).toBe(false);
  });
});
