// Decides what an attempt's end means, and what becomes of its record: after a result, a failure, a loss. If the origin may or may not have
// acted, the end is ambiguous: a wrong guess could cause a second effect.

import { nextLook, nextStart } from "./schedule.ts";
import type { LifeCycleEvent, OperatorEvent, PauseAdvice } from "./events.ts";
import {
  type Attempt,
  type Acceptance,
  type Failed,
  type IdempotencyRecord,
  promiseIn,
  type Started,
  type Unknown,
  type Waiting,
} from "./record.ts";
import { type DurationMs, earliestTime, type EpochMs, timeAfter, latestTime, NO_LOCK } from "./units.ts";

/** How an attempt ended, as the gateway saw it. */
export type AttemptEnd =
  /** The origin answered, and its whole body arrived, or more of it than the gateway keeps. */
  | { readonly kind: "answered"; readonly status: number }
  /** No connection could be opened: certainly nothing was sent. */
  | { readonly kind: "unreachable" }
  /** The connection broke when something may already have been sent, or the body was cut short. */
  | { readonly kind: "dropped" }
  /** The headers, or the next piece of the body, did not arrive in time. */
  | { readonly kind: "timed-out" };

/** An attempt to which no whole answer came. */
export type UnansweredEnd = Exclude<AttemptEnd, { kind: "answered" }>;

/** Why an attempt ended without a result. */
export type EndReason =
  | { readonly kind: "status"; readonly status: number }
  /** What is in the answer's body decided, by the rule at this pointer. */
  | { readonly kind: "body"; readonly at: string; readonly status: number }
  | { readonly kind: "unreachable" | "dropped" | "timed-out" }
  /** The consumer that made the attempt says why. */
  | { readonly kind: "said"; readonly text: string };

/** An attempt at which the call broke off, after something may have been sent. */
export type BrokenOff = Extract<AttemptEnd, { kind: "dropped" | "timed-out" }>;

/**
 * - `result`: the origin's answer is final (usually the operation took effect); it is stored and replayed.
 * - `refused`: the origin certainly did not act; the key may be retried at once.
 * - `ambiguous`: the origin may have acted.
 */
export type Verdict = "result" | "refused" | "ambiguous";

/** A verdict that leaves nothing to replay. */
export type NoResult = Exclude<Verdict, "result">;

/** A class of statuses: `"2xx"` stands for all from 200 to 299. */
export type StatusClass = `${1 | 2 | 3 | 4 | 5}xx`;

/** A status, or all of a class. */
export type StatusRule = number | StatusClass;

/** What a result says that has one of these values at a pointer. */
export interface BodyRule {
  /** A JSON pointer (RFC 6901). */
  readonly at: string;
  /** `null`: any value but `null`. */
  readonly equals: readonly BodyValue[] | null;
  readonly is: Verdict;
  /** The statuses whose bodies it is about. */
  readonly statuses: readonly StatusRule[];
}

export type BodyValue = string | number | boolean;

/** A route's statuses that are not results. A number counts before a class. The configuration forbids an entry that is in both lists. */
export type VerdictLists = Readonly<Record<NoResult, readonly StatusRule[]>>;

/**
 * The status that the gateway processes and sends for an origin's final response. A status outside 200–599 counts as 500 (RFC
 * 9110, section 15), also because the runtime cannot construct such a response.
 */
export function finalStatus(status: number): number {
  return status >= 200 && status <= 599 ? status : 500;
}

/** The verdict on an attempt's end, by the route's lists. */
export function judgeAttempt(end: AttemptEnd, lists: VerdictLists): Verdict {
  switch (end.kind) {
    case "answered":
      return listWith(end.status, lists) ?? listWith(classOfStatus(end.status), lists) ?? "result";
    case "unreachable":
    case "dropped":
    case "timed-out":
      return judgeUnanswered(end);
  }
}

/** Which list has the entry. One that were in both would be ambiguous. */
function listWith(entry: StatusRule, { ambiguous, refused }: VerdictLists): NoResult | null {
  if (ambiguous.includes(entry)) return "ambiguous";
  return refused.includes(entry) ? "refused" : null;
}

/** Whether a status says that what was asked for is done (RFC 9110, section 15.3). */
export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** The class of a status from 100 to 599; any other is of the class of 500. */
export function classOfStatus(status: number): StatusClass {
  const first = Math.trunc(status / 100);
  return first === 1 || first === 2 || first === 3 || first === 4 ? `${first}xx` : "5xx";
}

/** The verdict on an attempt without an answer. */
export function judgeUnanswered({ kind }: UnansweredEnd): NoResult {
  return kind === "unreachable" ? "refused" : "ambiguous";
}

/** The attempt, whose unknown outcome has no further consequence. */
export function settledAttempt(attempt: Attempt): Attempt {
  return { ...attempt, mayHaveActed: false };
}

/**
 * The record after an attempt that had no effect, or may be repeated from `from` on. An accepted request waits for its next attempt,
 * if there is one left.
 */
function repeatable(
  of: Pick<Started, "fingerprint" | "attempt" | "policy" | "accepted">,
  from: EpochMs,
  now: EpochMs,
  advice?: PauseAdvice,
): Waiting | Failed | Unknown {
  const { fingerprint, attempt, policy, accepted: promise } = of;
  const startAt = promise === undefined ? null : nextStart(promise, attempt, from, now, advice);
  // After a refusal nothing is running, whatever lock the attempt had.
  const over = { ...attempt, lockedUntil: earliestTime(attempt.lockedUntil, from) };
  if (promise !== undefined && startAt !== null) {
    return { state: "waiting", fingerprint, attempt: over, policy, accepted: promise, startAt };
  }
  if (promise?.isParked === true) return parkedAgain({ ...of, attempt: over, accepted: promise }, now);
  return {
    state: "failed",
    fingerprint,
    attempt,
    policy,
    retryFrom: from,
    expiresAt: timeAfter(now, policy.retentionMs),
  };
}

/** A message without an attempt left: an operator decides about it once more. */
function parkedAgain(
  { fingerprint, attempt, policy, accepted: promise }: Pick<Waiting, "fingerprint" | "attempt" | "policy" | "accepted">,
  now: EpochMs,
): Unknown {
  const expiresAt = timeAfter(now, policy.unknownRetentionMs);
  return {
    state: "unknown",
    fingerprint,
    attempt,
    policy,
    verifyAt: null,
    verifications: 0,
    expiresAt,
    accepted: promise,
  };
}

/** The record of a request that is due and cannot be read. It is looked at again later, and given up as one that is always refused. */
export function notMade(record: Waiting, now: EpochMs): Waiting | Failed | Unknown {
  const startAt = nextLook(record.accepted, now);
  if (startAt !== null) return { ...record, startAt };
  const { fingerprint, attempt, policy, accepted: promise } = record;
  if (promise.isParked === true) return parkedAgain(record, now);
  return {
    state: "failed",
    fingerprint,
    attempt,
    policy,
    retryFrom: now,
    expiresAt: timeAfter(now, policy.retentionMs),
  };
}

/** The record of an accepted request whose limit passed before its next attempt began. */
export function givenUp({ fingerprint, attempt, policy, accepted: { giveUpAt } }: Waiting): Failed {
  const expiresAt = timeAfter(giveUpAt, policy.retentionMs);
  return { state: "failed", fingerprint, attempt, policy, retryFrom: giveUpAt, expiresAt };
}

function promiseOf(record: Waiting | Started | Failed | Unknown): { readonly accepted?: Acceptance } {
  const promise = promiseIn(record);
  return promise === null ? {} : { accepted: promise };
}

/** The record after an attempt that may have taken effect. The time that it is kept counts from `since`. */
export function outcomeUnknown(
  record: Waiting | Started | Failed | Unknown,
  since: EpochMs,
  advice?: PauseAdvice,
): Waiting | Failed | Unknown {
  const { fingerprint, policy } = record;
  const attempt = { ...record.attempt, mayHaveActed: true };
  switch (policy.unknown) {
    case "retry":
      // The attempt may still be running at the origin. Attempts never overlap, so the next one waits until the lock ends.
      return repeatable({ fingerprint, attempt, policy, ...promiseOf(record) }, attempt.lockedUntil, since, advice);
    case "hold":
    case "verify": {
      // An unknown outcome does not expire with the retention: a retry after that could be a second effect.
      const expiresAt = timeAfter(since, policy.unknownRetentionMs);
      const verifyAt = policy.unknown === "verify" ? attempt.lockedUntil : null;
      const unknown = {
        state: "unknown",
        fingerprint,
        attempt,
        policy,
        expiresAt,
        verifyAt,
        verifications: 0,
      } as const;
      return { ...unknown, ...promiseOf(record) };
    }
  }
}

type AttemptEvent = Exclude<
  LifeCycleEvent,
  | OperatorEvent
  | { type: "request" | "claim" | "verify" | "tick" | "due" | "unreadable" | "park" | "look" | "abandon" | "cancel" }
>;

/** Applies an event of the attempt that owns the record, even if it arrives after the lock has ended. */
export function applyAttemptEvent(
  current: Waiting | Started | Failed | Unknown,
  event: AttemptEvent,
  now: EpochMs,
): IdempotencyRecord {
  const { fingerprint, attempt, policy } = current;
  const expiresAt = timeAfter(now, policy.retentionMs);
  switch (event.type) {
    case "result": {
      const { status, kept, verified } = event;
      // The attempt's own result ends its lock.
      const lockedUntil = verified ? attempt.lockedUntil : earliestTime(attempt.lockedUntil, now);
      const done = { ...settledAttempt(attempt), lockedUntil };
      return { state: "completed", fingerprint, attempt: done, policy, status, kept, completedAt: now, expiresAt };
    }
    case "refused":
      return repeatable({ fingerprint, attempt, policy, ...promiseOf(current) }, NO_LOCK, now, event.pause);
    case "ambiguous":
      // An attempt may withdraw what it reported before, so its outcome becomes unknown now at the earliest.
      return current.state === "unknown"
        ? current
        : outcomeUnknown(current, latestTime(attempt.lockedUntil, now), event.pause);
    case "absent":
      // While the attempt may still be running, "not found" proves nothing: it may act after the verification.
      if (current.state !== "unknown" || current.verifyAt === null) return current;
      if (event.verifiedAt < negativeCountsFrom(attempt, event.settleMs)) return current;
      return repeatable({ fingerprint, attempt: settledAttempt(attempt), policy, ...promiseOf(current) }, now, now);
    case "renew":
      return renewedAttempt(current, now);
  }
}

/** From when on a verification may be sent whose "did not happen" counts. */
export function negativeCountsFrom({ lockedUntil }: Attempt, settleMs: DurationMs | undefined): EpochMs {
  return settleMs === undefined ? lockedUntil : timeAfter(lockedUntil, settleMs);
}

/** The record of an attempt that is known to be running, however late its renewal comes. */
export function renewedAttempt(record: Waiting | Started | Failed | Unknown, now: EpochMs): Started {
  const { fingerprint, policy } = record;
  const attempt = { ...record.attempt, lockedUntil: timeAfter(now, policy.lockMs) };
  return { state: "started", fingerprint, attempt, policy, ...promiseOf(record) };
}
