// Histories of an accepted request, or of a queue's message, for property tests of the life cycle and of the ledger.

import fc from "fast-check";
import type { LifeCycleEvent, LifeCycleStep } from "../../src/kernel/record/events.ts";
import { step } from "../../src/kernel/record/life-cycle.ts";
import type { Schedule, IdempotencyRecord, Policy } from "../../src/kernel/record/record.ts";
import { deadlineOf } from "../../src/kernel/record/step.ts";
import { attemptId, durationMs, epochMs } from "../../src/kernel/record/units.ts";
import { FINGERPRINT, policyFor } from "./life-cycle-history.ts";

export const SCHEDULE: Schedule = {
  attempts: 3,
  firstPauseMs: durationMs(10),
  longestPauseMs: durationMs(60),
  giveUpAfterMs: durationMs(120),
};
export interface Lived extends LifeCycleStep {
  readonly before: IdempotencyRecord | null;
  readonly event: LifeCycleEvent;
  readonly now: number;
  readonly policy: Policy;
}

export const rules = fc.constantFrom<Policy["unknown"]>("retry", "hold", "verify");
const kinds = fc.constantFrom("begin", "wait", "due", "unreadable", "cancel", "sync", "park");
export const moves = fc.array(
  fc.record({
    kind: fc.oneof(
      kinds,
      fc.constantFrom("refused", "ambiguous", "renew", "result", "release", "resolve", "forget", "tick"),
    ),
    ago: fc.nat(1),
    passing: fc.oneof(fc.constant("deadline"), fc.constantFrom(0, 1, 15, 130)),
  }),
  { maxLength: 25, size: "max" },
);

/** What happens, to which of the last attempts, and how much time passes before. */
export interface Move {
  readonly kind: string;
  readonly ago: number;
  readonly passing: string | number;
}

/** Plays the moves. Requests that are accepted, others, and a queue's messages come to the same record. */
export function acceptedHistory(unknown: Policy["unknown"], list: readonly Move[]): readonly Lived[] {
  const policy = { ...policyFor(unknown), schedule: SCHEDULE };
  const started: string[] = [];
  const lived: Lived[] = [];
  let record: IdempotencyRecord | null = null;
  let now = 1_000_000;
  for (const { kind, ago, passing } of list) {
    if (typeof passing === "number") now += passing;
    else if (record !== null) now = Math.max(now, deadlineOf(record));
    const event = eventOf(kind, attemptId(started.at(-1 - ago) ?? "none"), attemptId(`attempt ${lived.length}`));
    const next: LifeCycleStep = step(record, event, policy, epochMs(now));
    if (next.reply.type === "start") started.push(next.reply.record.attempt.id);
    lived.push({ ...next, before: record, event, now, policy });
    ({ record } = next);
  }
  return lived;
}

export function eventOf(
  kind: string,
  of: ReturnType<typeof attemptId>,
  fresh: ReturnType<typeof attemptId>,
): LifeCycleEvent {
  switch (kind) {
    case "begin":
    case "wait":
      return { type: "request", fingerprint: FINGERPRINT, attemptId: fresh, accept: kind };
    case "sync":
      return { type: "request", fingerprint: FINGERPRINT, attemptId: fresh };
    case "park":
      return { type: "park", fingerprint: FINGERPRINT };
    case "due":
      return { type: "due", attemptId: fresh };
    case "unreadable":
      return { type: "unreadable" };
    case "cancel":
      return { type: "cancel", fingerprintPrefix: FINGERPRINT };
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
    case "resolve":
      return { type: "resolve", by: "admin", reason: "because", status: 200 };
    default:
      return { type: "tick" };
  }
}
