// Histories of one record for property tests. Time steps are biased to zero and the boundaries, since uniform steps hardly
// ever hit the millisecond in which a lock ends.

import fc from "fast-check";
import type { LifeCycleEvent, LifeCycleStep } from "../../src/kernel/record/events.ts";
import { step } from "../../src/kernel/record/life-cycle.ts";
import { deadlineOf } from "../../src/kernel/record/step.ts";
import type { IdempotencyRecord, Policy } from "../../src/kernel/record/record.ts";
import {
  attemptId,
  type DurationMs,
  durationMs,
  epochMs,
  type EpochMs,
  fingerprint,
} from "../../src/kernel/record/units.ts";

export const LOCK_MS = 40;
export const RETENTION_MS = 100;
export const UNKNOWN_RETENTION_MS = 250;
/** Longer than the retention, and shorter than that of a record with an unknown outcome; longer than both. */
export const REMEMBER_MS = [180, 400] as const;

export const policyFor = (unknown: Policy["unknown"], rememberMs?: number, afterRefusal?: "any"): Policy => ({
  unknown,
  lockMs: durationMs(LOCK_MS),
  retentionMs: durationMs(RETENTION_MS),
  unknownRetentionMs: durationMs(UNKNOWN_RETENTION_MS),
  ...(rememberMs === undefined ? {} : { rememberMs: durationMs(rememberMs) }),
  ...(afterRefusal === undefined ? {} : { afterRefusal }),
});

export const FINGERPRINT = fingerprint("f");
export const OTHER_FINGERPRINT = fingerprint("g");

/** How far time moves before an event: by an amount, or to an offset from the record's deadline or retry time. */
export type PassThroughRequest =
  | { readonly by: number }
  | { readonly toDeadline: number }
  | { readonly toRetryFrom: number };

/** What happens. Attempts are numbered backwards in the order of their starts: the last one is 0. */
export type TimelineEvent =
  | { readonly type: "request"; readonly other: boolean; readonly unknown: Policy["unknown"] }
  /** A consumer's claim, for a longer or a shorter time; `again`: with the id of the last attempt. */
  | {
      readonly type: "claim";
      readonly other: boolean;
      readonly unknown: Policy["unknown"];
      readonly again: boolean;
      readonly lockMs: number;
    }
  | { readonly type: "result" | "refused" | "ambiguous" | "renew"; readonly attemptsAgo: number }
  /** The origin, asked `askedAgo` milliseconds ago, reports no effect. */
  | {
      readonly type: "absent";
      readonly attemptsAgo: number;
      readonly askedAgo: number;
      readonly settleMs?: number | undefined;
    }
  | { readonly type: "verify"; readonly settleMs?: number | undefined }
  /** The client gives the key up. */
  | { readonly type: "abandon" }
  | { readonly type: "tick" }
  /** An operator's change. */
  | { readonly type: "release" | "resolve" | "forget" };

export interface Moment {
  readonly passing: PassThroughRequest;
  readonly event: TimelineEvent;
}

const passing: fc.Arbitrary<PassThroughRequest> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ by: 0 }) },
  { weight: 2, arbitrary: fc.record({ by: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ toDeadline: fc.integer({ min: -1, max: 1 }) }) },
  { weight: 2, arbitrary: fc.record({ toRetryFrom: fc.integer({ min: -1, max: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ by: fc.integer({ min: 0, max: 2 * UNKNOWN_RETENTION_MS }) }) },
);

/** How long after the lock a report of no effect begins to count. */
const settleMs = fc.constantFrom(undefined, 0, 1, LOCK_MS, UNKNOWN_RETENTION_MS);

const event: fc.Arbitrary<TimelineEvent> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("request" as const),
      other: fc.nat(3).map((n) => n === 0),
      unknown: fc.constantFrom("retry" as const, "hold" as const, "verify" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("claim" as const),
      other: fc.nat(3).map((n) => n === 0),
      unknown: fc.constantFrom("retry" as const, "hold" as const),
      again: fc.boolean(),
      lockMs: fc.constantFrom(LOCK_MS / 2, LOCK_MS),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constantFrom("result" as const, "refused" as const, "ambiguous" as const, "renew" as const),
      attemptsAgo: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("absent" as const),
      attemptsAgo: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
      askedAgo: fc.oneof(fc.constant(0), fc.nat(2 * LOCK_MS)),
      settleMs,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("verify" as const), settleMs }) },
  { weight: 1, arbitrary: fc.constant({ type: "abandon" as const }) },
  { weight: 1, arbitrary: fc.constant({ type: "tick" as const }) },
);

export const history: fc.Arbitrary<readonly Moment[]> = fc.array(fc.record({ passing, event }), { maxLength: 25 });

const change: fc.Arbitrary<TimelineEvent> = fc.record({
  type: fc.constantFrom("release" as const, "resolve" as const, "forget" as const),
});

/** The same, with operators who make changes at any time. */
export const operatedHistory: fc.Arbitrary<readonly Moment[]> = fc.array(
  fc.record({
    passing,
    event: fc.oneof({ weight: 3, arbitrary: event }, { weight: 1, arbitrary: change }),
  }),
  // By default the generator seldom makes ten events in a row, and a change needs events before and after it.
  { maxLength: 25, size: "max" },
);

export interface Taken extends LifeCycleStep {
  readonly now: EpochMs;
  readonly event: LifeCycleEvent;
  readonly before: IdempotencyRecord | null;
  readonly policy: Policy;
}

/** Plays a history. `unknown` fixes the policy of every claim; otherwise each request has its own. All are alike in the rest. */
export function play(
  moments: readonly Moment[],
  unknown?: Policy["unknown"],
  rememberMs?: number,
  afterRefusal?: "any",
): readonly Taken[] {
  const started: string[] = [];
  const taken: Taken[] = [];
  let record: IdempotencyRecord | null = null;
  let now = epochMs(1_000_000);
  for (const moment of moments) {
    now = passed(now, moment.passing, record);
    const { event: what } = moment;
    const asked = what.type === "request" || what.type === "claim" ? what.unknown : "retry";
    const common = policyFor(unknown ?? asked, rememberMs, afterRefusal);
    const policy = what.type === "claim" ? { ...common, lockMs: durationMs(what.lockMs) } : common;
    const lived = eventOf(what, started, now);
    const result: LifeCycleStep = step(record, lived, policy, now);
    if (result.reply.type === "start") started.push(result.reply.record.attempt.id);
    taken.push({ ...result, now, event: lived, before: record, policy });
    ({ record } = result);
  }
  return taken;
}

function passed(now: EpochMs, by: PassThroughRequest, record: IdempotencyRecord | null): EpochMs {
  if ("by" in by) return epochMs(now + by.by);
  if (record === null) return now;
  if ("toDeadline" in by) return epochMs(Math.max(now, deadlineOf(record) + by.toDeadline));
  const target = record.state === "failed" ? record.retryFrom : record.attempt.lockedUntil;
  return epochMs(Math.max(now, target + by.toRetryFrom));
}

function settled({ settleMs: ms }: { readonly settleMs?: number | undefined }): { readonly settleMs?: DurationMs } {
  return ms === undefined ? {} : { settleMs: durationMs(ms) };
}

function eventOf(what: TimelineEvent, started: readonly string[], now: EpochMs): LifeCycleEvent {
  switch (what.type) {
    case "tick":
    case "abandon":
      return { type: what.type };
    case "verify":
      return { type: what.type, ...settled(what) };
    case "absent": {
      const verifiedAt = epochMs(now - what.askedAgo);
      const id = attemptId(started.at(-1 - what.attemptsAgo) ?? "none");
      return { type: "absent", attemptId: id, verifiedAt, ...settled(what) };
    }
    case "request":
      return {
        type: "request",
        fingerprint: what.other ? OTHER_FINGERPRINT : FINGERPRINT,
        attemptId: attemptId(`attempt ${started.length}`),
      };
    case "claim":
      return {
        type: "claim",
        fingerprint: what.other ? OTHER_FINGERPRINT : FINGERPRINT,
        attemptId: attemptId((what.again ? started.at(-1) : undefined) ?? `attempt ${started.length}`),
        note: { holder: null, position: null },
      };
    case "renew":
      return { type: "renew", attemptId: attemptId(started.at(-1 - what.attemptsAgo) ?? "none") };
    case "refused":
    case "ambiguous": {
      const reason = { kind: what.type === "refused" ? "unreachable" : "dropped" } as const;
      return { type: what.type, attemptId: attemptId(started.at(-1 - what.attemptsAgo) ?? "none"), reason };
    }
    case "result":
      return {
        type: "result",
        attemptId: attemptId(started.at(-1 - what.attemptsAgo) ?? "none"),
        status: 201,
        kept: true,
        verified: false,
      };
    case "release":
    case "forget":
      return { type: what.type, by: "admin", reason: "because" };
    case "resolve":
      return { type: "resolve", by: "admin", reason: "because", status: 200 };
  }
}
