// The state machine of one record: it takes a record, an event, a policy and the time, and returns the next record, the
// reply and the next deadline. It is total and pure. Nothing else may decide whether the origin is called.
//
// Each step first applies what time has changed (`applyTime`): the lock may have ended, or the record may have expired. So an
// alarm that ran in between makes no difference to the result of any later event.

import { applyAttemptEvent, givenUp, negativeCountsFrom, notMade, outcomeUnknown, settledAttempt } from "./verdict.ts";
import { abandonKey, applyOperatorEvent, cancelRequest, lookAt } from "./decision.ts";
import { broughtBack, acceptanceWith, isTooLate, parkedAcceptance } from "./schedule.ts";
import type { LifeCycleEvent, LifeCycleStep } from "./events.ts";
import { isAbandoned } from "./record.ts";
import type {
  Attempt,
  Acceptance,
  ExpiringRecord,
  IdempotencyRecord,
  Policy,
  Remembered,
  Started,
  Unknown,
  Waiting,
} from "./record.ts";
import { changedStep, outcomeReply, unchangedStep } from "./step.ts";
import {
  type AttemptId,
  dueAt,
  type DurationMs,
  durationMs,
  earliestTime,
  type EpochMs,
  type Fingerprint,
  timeAfter,
  NO_LOCK,
} from "./units.ts";

/**
 * Applies one event to a record. `policy` is the route's current one, and only a new attempt takes it. A record keeps the
 * policy of its own claim, so a changed configuration never changes the promise under which an attempt was started.
 */
export function step(
  record: IdempotencyRecord | null,
  event: LifeCycleEvent,
  policy: Policy,
  now: EpochMs,
): LifeCycleStep {
  const current = applyTime(record, now);
  if (current === null) return stepWithoutRecord(record, event, policy, now);
  // Whatever it asks for: nobody knows what the key was for.
  if ((event.type === "request" || event.type === "claim") && isAbandoned(current))
    return applyRequest(record, current, event, policy, now);
  // All of its attempts were refused, so nothing that the other request could change has happened.
  if ((event.type === "request" || event.type === "claim") && takesOthers(policy) && isUndone(current))
    return applyRequest(record, current, event, policy, now);
  switch (event.type) {
    case "request":
      if (event.fingerprint !== current.fingerprint && event.otherFingerprint !== current.fingerprint)
        return unchangedStep(record, { type: "key-reused" });
      return applyRequest(record, current, event, policy, now);
    case "claim":
      if (event.fingerprint !== current.fingerprint) return unchangedStep(record, { type: "key-reused" });
      if (current.state === "started" && event.attemptId === current.attempt.id)
        return unchangedStep(record, { type: "granted-again", record: current });
      return applyRequest(record, current, event, policy, now);
    case "due": {
      if (current.state !== "waiting" || current.startAt > now) return changedStep(current, { type: "nothing-due" });
      const { fingerprint, attempt, policy: own } = current;
      return start(fingerprint, nextOf(attempt, event.attemptId), own, now, current.accepted);
    }
    case "unreadable":
      if (current.state !== "waiting" || current.startAt > now) return changedStep(current, { type: "nothing-due" });
      return changedStep(notMade(current, now), { type: "nothing-due" });
    case "park": {
      const { schedule } = policy;
      const isThis = current.state === "unknown" && current.fingerprint === event.fingerprint;
      if (!isThis || schedule === undefined) return unchangedStep(record, { type: "nothing-due" });
      if (current.accepted !== undefined) return unchangedStep(record, { type: "parked" });
      return changedStep(
        { ...current, accepted: parkedAcceptance(schedule, current.attempt.number, event.message, now) },
        { type: "parked" },
      );
    }
    case "look":
      return lookAt(record, current, event.fingerprintPrefix);
    case "abandon":
      return abandonKey(record, current, policy, now);
    case "cancel":
      return cancelRequest(record, current, event.fingerprintPrefix, now);
    case "result":
    case "refused":
    case "ambiguous":
    case "renew":
    case "absent":
      if (event.attemptId !== current.attempt.id || current.state === "completed" || current.state === "remembered")
        return unchangedStep(record, { type: "superseded" });
      // The origin was asked about an attempt that seemed lost. One that is running brings its own result; the answer may be
      // about an earlier attempt with the same id, if an operator has erased its record and the request was delivered again.
      if ((current.state === "started" || current.state === "waiting") && event.type === "result" && event.verified)
        return unchangedStep(record, { type: "superseded" });
      return changedStep(applyAttemptEvent(current, event, now), { type: "settled" });
    case "verify": {
      if (current.state !== "unknown" || current.verifyAt === null)
        return changedStep(current, { type: "nothing-due" });
      const verified = afterVerification(current, current.verifyAt, event.settleMs, now);
      return changedStep(verified, { type: "verify", record: verified });
    }
    case "tick":
      return changedStep(current, { type: "nothing-due" });
    case "release":
    case "resolve":
    case "forget":
      return applyOperatorEvent(record, current, event, now);
  }
}

/** The record as time has changed it; `null` if it has expired. New times count from the end of the lock, not from `now`. */
function applyTime(record: IdempotencyRecord | null, now: EpochMs): IdempotencyRecord | null {
  if (record === null) return null;
  if (record.state === "started" && record.attempt.lockedUntil > now) return record;
  const lost = record.state === "started" ? outcomeUnknown(record, record.attempt.lockedUntil) : record;
  const ended = lost.state === "waiting" && isTooLate(lost, now) ? givenUp(lost) : lost;
  if (ended.state === "waiting") return broughtBack(ended, now);
  if (ended.expiresAt > now) return ended.state === "unknown" ? verifiedInTime(ended, now) : ended;
  const left = remembered(ended);
  return left !== null && left.expiresAt > now ? left : null;
}

/**
 * What is left of a record that has expired; `null`: nothing. A failed record whose attempts certainly had no effect need not be
 * remembered.
 */
function remembered(record: ExpiringRecord): Remembered | null {
  const { state, fingerprint, attempt, policy } = record;
  const { rememberMs, retentionMs, unknownRetentionMs } = policy;
  if (rememberMs === undefined || state === "remembered" || (state === "failed" && !attempt.mayHaveActed)) return null;
  const keptMs = state === "unknown" ? unknownRetentionMs : retentionMs;
  const status = state === "completed" ? record.status : null;
  const expiresAt = timeAfter(record.expiresAt, durationMs(rememberMs - keptMs));
  return { state: "remembered", fingerprint, attempt: settledAttempt(attempt), policy, status, expiresAt };
}

/** Not on a route that accepts requests: a failed record no longer says whether it was one, whose client learns what became of it (G10). */
function takesOthers({ afterRefusal, schedule }: Policy): boolean {
  return afterRefusal === "any" && schedule === undefined;
}

/** Whether the key has had attempts, all of which certainly had no effect. */
function isUndone(current: IdempotencyRecord): boolean {
  return current.state === "failed" && !current.attempt.mayHaveActed;
}

/** `expired` is the record that has expired, if there was one. */
function stepWithoutRecord(
  expired: IdempotencyRecord | null,
  event: LifeCycleEvent,
  policy: Policy,
  now: EpochMs,
): LifeCycleStep {
  switch (event.type) {
    case "request":
    case "claim": {
      const { fingerprint, attemptId } = event;
      const none = { id: attemptId, number: 0, mayHaveActed: false };
      return claim(fingerprint, { ...none, startedAt: now, lockedUntil: NO_LOCK }, event, policy, now);
    }
    case "abandon":
      return abandonKey(expired, null, policy, now);
    case "look":
    case "cancel":
      return unchangedStep(expired, { type: "unseen" });
    case "result":
    case "refused":
    case "ambiguous":
    case "renew":
    case "absent":
      return { record: null, reply: { type: "superseded" }, deadline: null };
    case "release":
    case "resolve":
    case "forget":
      return { record: null, reply: { type: "unchangeable", why: "none" }, deadline: null };
    case "verify":
    case "due":
    case "unreadable":
    case "park":
    case "tick":
      return { record: null, reply: { type: "nothing-due" }, deadline: null };
  }
}

function applyRequest(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord,
  event: RequestEvent,
  policy: Policy,
  now: EpochMs,
): LifeCycleStep {
  switch (current.state) {
    case "waiting":
      return unchangedStep(record, { type: "accepted", record: current, isNew: false });
    case "started": {
      if (current.accepted !== undefined)
        return unchangedStep(record, { type: "accepted", record: current, isNew: false });
      const retryFrom = current.attempt.lockedUntil;
      return unchangedStep(record, { type: "in-flight", record: current, retryFrom });
    }
    case "failed": {
      const { retryFrom, attempt } = current;
      // The same request may be delivered twice. The id of an ended attempt must never name a second attempt.
      const isSpent = event.attemptId === attempt.id;
      // With the fingerprint in the request's own form: the other may be one that its route no longer writes.
      if (now >= retryFrom && !isSpent) return claim(event.fingerprint, attempt, event, policy, now);
      return unchangedStep(record, { type: "in-flight", record: current, retryFrom });
    }
    case "unknown":
    case "completed":
    case "remembered":
      return unchangedStep(record, outcomeReply(current));
  }
}

type RequestEvent = Extract<LifeCycleEvent, { type: "request" | "claim" }>;

/** A request gets its first attempt, or one after `last`: at once, or when its turn comes. */
function claim(
  fingerprint: Fingerprint,
  last: Attempt,
  event: RequestEvent,
  policy: Policy,
  now: EpochMs,
): LifeCycleStep {
  const { attemptId } = event;
  const { accept } = event.type === "request" ? event : {};
  const promise =
    accept === undefined || policy.schedule === undefined
      ? undefined
      : acceptanceWith(policy.schedule, last.number, now);
  if (accept !== "wait" || promise === undefined)
    return start(fingerprint, nextOf(last, attemptId), policy, now, promise);
  const record: Waiting = { state: "waiting", fingerprint, attempt: last, policy, accepted: promise, startAt: now };
  return changedStep(record, { type: "accepted", record, isNew: true });
}

type NextAttempt = Pick<Attempt, "id" | "number" | "mayHaveActed">;

function nextOf({ number, mayHaveActed }: Attempt, id: AttemptId): NextAttempt {
  return { id, number: number + 1, mayHaveActed };
}

function start(
  fingerprint: Fingerprint,
  of: NextAttempt,
  policy: Policy,
  now: EpochMs,
  promise: Acceptance | undefined,
): LifeCycleStep {
  const attempt = { ...of, startedAt: now, lockedUntil: timeAfter(now, policy.lockMs) };
  const record: Started = { state: "started", fingerprint, attempt, policy, ...(promise && { accepted: promise }) };
  return changedStep(record, { type: "start", record });
}

/** The pause between two verifications starts at 2 s, doubles each time, and is at most an hour: a record may wait for a year. */
const MIN_PAUSE_MS = 2000;
export const MAX_PAUSE_MS = 3_600_000;

/**
 * A verification that is further away than any pause, and than a lock, was put there by a clock that was ahead. Asked too early, the origin
 * cannot free the key: "not found" proves nothing before the lock has ended.
 */
function verifiedInTime(record: Unknown, now: EpochMs): Unknown {
  const { verifyAt, policy } = record;
  if (verifyAt === null) return record;
  const at = dueAt(verifyAt, durationMs(Math.max(MAX_PAUSE_MS, policy.lockMs)), now);
  return at === verifyAt ? record : { ...record, verifyAt: at };
}

/**
 * The record after one verification. It is written before the origin is asked, so that a crash does not lose the
 * pause. A duplicate request may ask at any time; only a verification that was due makes the next pause longer. No pause goes beyond the
 * time from which a "did not happen" counts.
 */
function afterVerification(
  record: Unknown,
  verifyAt: EpochMs,
  settleMs: DurationMs | undefined,
  now: EpochMs,
): Unknown {
  if (now < verifyAt) return record;
  const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(record.verifications, 20));
  const countsFrom = negativeCountsFrom(record.attempt, settleMs);
  const paused = timeAfter(now, durationMs(pauseMs));
  // An expired record is never verified, so `verifyAt` never exceeds `expiresAt` and is always the record's deadline.
  const next = earliestTime(now < countsFrom ? earliestTime(paused, countsFrom) : paused, record.expiresAt);
  return { ...record, verifyAt: next, verifications: record.verifications + 1 };
}
