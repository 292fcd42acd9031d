// The description of a record in every state and with every history that leads to it, each made by the life cycle itself.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeRecord, type RecordDescription } from "../../../../src/kernel/record/describe-record.ts";
import type { LifeCycleEvent } from "../../../../src/kernel/record/events.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Policy } from "../../../../src/kernel/record/record.ts";
import {
  type OperatorChange,
  type TimelineEvent,
  timelineOf,
  updateHistory,
} from "../../../../src/kernel/record/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../../../src/kernel/record/units.ts";
import { expectApproved } from "../../../support/words.ts";
import type { EndReason } from "../../../../src/kernel/record/verdict.ts";

const LOCK_MS = 40;
const POLICY = {
  lockMs: durationMs(LOCK_MS),
  retentionMs: durationMs(100_000),
  unknownRetentionMs: durationMs(400_000),
};

type Events = readonly (readonly [at: number, event: LifeCycleEvent])[];

interface Lived {
  readonly record: IdempotencyRecord;
  readonly timeline: readonly TimelineEvent[];
  readonly policy: Policy;
}

/** The record in its present state, as an operator sees it. */
function live(unknown: Policy["unknown"], now: number, events: Events): Lived | null {
  const policy = { ...POLICY, unknown };
  let record: IdempotencyRecord | null = null;
  let history: readonly TimelineEvent[] = [];
  for (const [at, event] of [...events, [now, { type: "tick" }] as const]) {
    const next = step(record, event, policy, epochMs(at));
    if (next.record !== record) history = updateHistory(history, record, event, next.record, epochMs(at));
    ({ record } = next);
  }
  return record === null ? null : { record, timeline: timelineOf(history, record, epochMs(now)), policy };
}

function described({ record, timeline, policy }: Lived, now: number): RecordDescription {
  const { state, attempt } = record;
  return describeRecord(
    {
      state,
      attempt: attempt.number,
      lockedUntil: state === "failed" ? record.retryFrom : attempt.lockedUntil,
      status: state === "completed" ? record.status : null,
      responseKept: state === "completed" ? record.kept : null,
      accepted: "accepted" in record,
      policy,
    },
    timeline,
    epochMs(now),
  );
}

const request = (id: string): LifeCycleEvent => ({
  type: "request",
  fingerprint: fingerprint("f"),
  attemptId: attemptId(id),
});
const result = (id: string, status = 201, { kept = true, verified = false } = {}): LifeCycleEvent => ({
  type: "result",
  attemptId: attemptId(id),
  status,
  kept,
  verified,
});
const ended = (type: "refused" | "ambiguous", id: string, reason: EndReason): LifeCycleEvent => ({
  type,
  attemptId: attemptId(id),
  reason,
});
const absent = (id: string, verifiedAt: number): LifeCycleEvent => ({
  type: "absent",
  attemptId: attemptId(id),
  verifiedAt: epochMs(verifiedAt),
});
const by = { by: "admin", reason: "seen at the bank" };
const release: LifeCycleEvent = { type: "release", ...by };
const resolve: LifeCycleEvent = { type: "resolve", status: 200, ...by };
const tick: LifeCycleEvent = { type: "tick" };

const begun = [0, request("a")] as const;
const timedOut = [5, ended("ambiguous", "a", { kind: "timed-out" })] as const;
const CASES: readonly (readonly [name: string, unknown: Policy["unknown"], now: number, events: Events])[] = [
  ["in flight", "hold", 1, [begun]],
  ["answered with 201", "hold", 9, [begun, [5, result("a")]]],
  ["answered with 303", "hold", 9, [begun, [5, result("a", 303)]]],
  ["answered with 402", "hold", 9, [begun, [5, result("a", 402)]]],
  ["answered with 500", "hold", 9, [begun, [5, result("a", 500)]]],
  ["not kept", "hold", 9, [begun, [5, result("a", 200, { kept: false })]]],
  ["a 500 not kept", "hold", 9, [begun, [5, result("a", 500, { kept: false })]]],
  ["answered late", "hold", 99, [begun, [41, tick], [60, result("a")]]],
  ["answered by the second attempt", "retry", 99, [begun, timedOut, [45, request("b")], [50, result("b")]]],
  ["verified", "verify", 99, [begun, [41, tick], [60, result("a", 200, { verified: true })]]],
  ["resolved", "hold", 99, [begun, timedOut, [50, resolve]]],
  ["resolved while its attempt may be in flight", "hold", 9, [begun, timedOut, [6, resolve]]],
  ["released, then resolved", "hold", 99, [begun, timedOut, [50, release], [60, resolve]]],
  [
    "released, and answered by the next attempt",
    "hold",
    99,
    [begun, timedOut, [50, release], [60, request("b")], [61, result("b", 402)]],
  ],
  ["unknown", "hold", 9, [begun, timedOut]],
  ["unknown, its lock over", "hold", 99, [begun, timedOut]],
  ["unknown by a status", "hold", 99, [begun, [5, ended("ambiguous", "a", { kind: "status", status: 504 })]]],
  ["lost", "hold", 99, [begun]],
  [
    "unknown again after a release",
    "hold",
    70,
    [begun, timedOut, [50, release], [60, request("b")], [61, ended("ambiguous", "b", { kind: "dropped" })]],
  ],
  ["being verified", "verify", 99, [begun, timedOut]],
  ["refused", "hold", 9, [begun, [5, ended("refused", "a", { kind: "status", status: 503 })]]],
  ["unreachable", "hold", 9, [begun, [5, ended("refused", "a", { kind: "unreachable" })]]],
  ["to be repeated", "retry", 9, [begun, timedOut]],
  ["to be repeated, its lock over", "retry", 99, [begun, timedOut]],
  ["lost, to be repeated", "retry", 99, [begun]],
  ["verified not to have happened", "verify", 99, [begun, [41, tick], [60, absent("a", 50)]]],
  ["released", "hold", 99, [begun, timedOut, [50, release]]],
  ["released while its attempt may be in flight", "hold", 9, [begun, timedOut, [6, release]]],
  ["released twice", "hold", 99, [begun, timedOut, [50, release], [60, release]]],
];

it("each record is described as approved", async () => {
  const said = CASES.map(([name, unknown, now, events]) => {
    const lived = live(unknown, now, events);
    if (lived === null) throw new Error("there is no record");
    const { tone, headline, retry, advice, changes } = described(lived, now);
    expect(advice).toMatch(/^[A-Z].*\.$/);
    const shown = `(${tone}; ${changes.length === 0 ? "no change" : changes.join(", ")})`;
    return { asked: `${name}, unknown = "${unknown}"`, words: [headline, retry, advice, shown].join("\n") };
  });
  await expectApproved("record-descriptions", said);
});

const CHANGES: readonly OperatorChange[] = ["release", "resolve", "forget"];

/** The record after a change, without its time of erasure; `null` if the life cycle refuses the change. */
function changed({ record, policy }: Lived, change: OperatorChange, now: number): string | null {
  const event: LifeCycleEvent = change === "resolve" ? { type: change, status: 200, ...by } : { type: change, ...by };
  const { reply, record: after } = step(record, event, policy, epochMs(now));
  return reply.type === "unchangeable" ? null : JSON.stringify({ ...after, expiresAt: 0 });
}

describe("the offered changes", () => {
  it("are those that the life cycle allows and that change something, after any history", () => {
    const ids = fc.constantFrom("a", "b", "c");
    const reasons = fc.constantFrom<EndReason>({ kind: "timed-out" }, { kind: "status", status: 503 });
    const events = fc.oneof(
      { weight: 3, arbitrary: ids.map(request) },
      fc
        .tuple(ids, fc.constantFrom(200, 302, 402, 500), fc.boolean(), fc.boolean())
        .map(([id, status, kept, verified]) => result(id, status, { kept, verified })),
      fc
        .tuple(fc.constantFrom("refused" as const, "ambiguous" as const), ids, reasons)
        .map(([type, id, reason]) => ended(type, id, reason)),
      ids.map((id) => absent(id, LOCK_MS)),
      fc.constantFrom(release, resolve, tick),
    );
    const histories = fc.array(fc.tuple(fc.constantFrom(0, 1, LOCK_MS - 1, LOCK_MS), events), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        fc.constantFrom("retry", "hold", "verify"),
        histories,
        fc.constantFrom(0, 1, LOCK_MS),
        (unknown, steps, rest) => {
          let at = 0;
          const timed = steps.map(([after, event]) => [(at += after), event] as const);
          const now = at + rest;
          const lived = live(unknown, now, timed);
          if (lived === null) return;
          const { changes, headline, retry } = described(lived, now);
          const before = JSON.stringify({ ...lived.record, expiresAt: 0 });
          const useful = CHANGES.filter((change) => ![null, before].includes(changed(lived, change, now)));
          expect(changes.toSorted()).toEqual(useful.toSorted());
          // The description of a retry matches what a retry gets.
          const { reply } = step(lived.record, request("next"), lived.policy, epochMs(now));
          const says = {
            start: /starts attempt \d+\.$/,
            replay: /gets this response/,
            "not-kept": /response-not-kept/,
            "in-flight": /409 in-flight/,
            "outcome-unknown": /outcome-unknown/,
          };
          expect(
            Object.entries(says)
              .filter(([, pattern]) => pattern.test(retry))
              .map(([type]) => type),
          ).toEqual([reply.type]);
          if (lived.record.state === "completed" && (lived.record.status ?? 0) >= 400)
            expect(headline).not.toContain("the operation took effect");
        },
      ),
      { numRuns: 2000 },
    );
  });
});
