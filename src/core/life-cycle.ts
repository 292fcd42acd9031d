// The state machine of one record: it takes a record, an event, a policy and the time, and returns the next record, the
// reply and the next deadline. It is total and pure. Nothing else may decide whether the origin is called.
//
// Each step first applies what time has changed (`applyTime`): the lock may have ended, or the record may have expired. So an
// alarm that ran in between makes no difference to the result of any later event.

import { type AttemptId, durationMs, earliest, type EpochMs, type Fingerprint, later, latest } from "./units.ts";
import type { LifeCycleEvent, OperatorEvent, Reply, Step, Unchangeable } from "./events.ts";
import type { Attempt, Failed, IdempotencyRecord, Policy, Remembered, Started, Unknown } from "./record.ts";

/**
 * Applies one event to a record. `policy` is the route's current one, and only a new attempt takes it. A record keeps the
 * policy of its own claim, so a changed configuration never changes the promise under which an attempt was started.
 */
export function step(record: IdempotencyRecord | null, event: LifeCycleEvent, policy: Policy, now: EpochMs): Step {
  const current = applyTime(record, now);
  if (current === null) return stepWithoutRecord(record, event, policy, now);
  switch (event.type) {
    case "request":
      if (event.fingerprint !== current.fingerprint && event.otherFingerprint !== current.fingerprint)
        return unchanged(record, { type: "mismatch" });
      return applyRequest(record, current, event.attemptId, policy, now);
    case "result":
    case "refused":
    case "ambiguous":
    case "renew":
    case "absent":
      if (event.attemptId !== current.attempt.id || current.state === "completed" || current.state === "remembered")
        return unchanged(record, { type: "superseded" });
      // The origin was asked about an attempt that seemed lost. One that is running brings its own result; the answer may be
      // about an earlier attempt with the same id, if an operator has erased its record and the request was delivered again.
      if (current.state === "started" && event.type === "result" && event.verified)
        return unchanged(record, { type: "superseded" });
      return changed(applyAttemptEvent(current, event, now), { type: "settled" });
    case "verify": {
      if (current.state !== "unknown" || current.verifyAt === null) return changed(current, { type: "nothing-due" });
      const asked = afterQuestion(current, current.verifyAt, now);
      return changed(asked, { type: "ask", record: asked });
    }
    case "ask":
      return unchanged(record, { type: "here" });
    case "tick":
      return changed(current, { type: "nothing-due" });
    case "release":
    case "resolve":
    case "forget":
      return applyOperatorEvent(record, current, event, now);
  }
}

/**
 * An operator's change. Attempts never overlap, not even when an operator decides: while one may still be running at the
 * origin, no other may start. A completed record can only be forgotten, because its first answer is final, and so can a
 * remembered one.
 */
function applyOperatorEvent(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord,
  event: OperatorEvent,
  now: EpochMs,
): Step {
  const refuse = (why: Unchangeable): Step => unchanged(record, { type: "unchangeable", why });
  if (current.state === "started") return refuse("in-flight");
  const { fingerprint, attempt, policy } = current;
  const expiresAt = later(now, policy.retentionMs);
  switch (event.type) {
    case "release": {
      if (current.state === "completed" || current.state === "remembered") return refuse(current.state);
      const retryFrom = current.state === "failed" ? current.retryFrom : latest(now, attempt.lockedUntil);
      // An operator who releases a record in doubt has decided that nothing took effect.
      const released = current.state === "unknown" ? settled(attempt) : attempt;
      return changed(
        { state: "failed", fingerprint, attempt: released, policy, retryFrom, expiresAt },
        { type: "changed" },
      );
    }
    case "resolve": {
      if (current.state === "completed" || current.state === "remembered") return refuse(current.state);
      const { status } = event;
      // The response is available at once. The lock stays, because the attempt may still be running: it blocks `forget`.
      const lockedUntil = current.state === "failed" ? current.retryFrom : attempt.lockedUntil;
      const locked = { ...settled(attempt), lockedUntil };
      const completed = { state: "completed", fingerprint, attempt: locked, policy, status, kept: true } as const;
      return changed({ ...completed, completedAt: now, expiresAt }, { type: "changed" });
    }
    case "forget":
      if (mayStillRun(current, now)) return refuse("in-flight");
      return { record: null, reply: { type: "changed" }, deadline: null };
  }
}

function mayStillRun(record: Exclude<IdempotencyRecord, Started>, now: EpochMs): boolean {
  switch (record.state) {
    case "failed":
      return record.retryFrom > now;
    case "unknown":
    case "completed":
    case "remembered":
      return record.attempt.lockedUntil > now;
  }
}

/** When the record next changes without an event. */
export function deadlineOf(record: IdempotencyRecord): EpochMs {
  switch (record.state) {
    case "started":
      return record.attempt.lockedUntil;
    case "unknown":
      return record.verifyAt === null ? record.expiresAt : earliest(record.verifyAt, record.expiresAt);
    case "failed":
    case "completed":
    case "remembered":
      return record.expiresAt;
  }
}

/** The record as time has changed it; `null` if it has expired. New times count from the end of the lock, not from `now`. */
function applyTime(record: IdempotencyRecord | null, now: EpochMs): IdempotencyRecord | null {
  if (record === null) return null;
  if (record.state === "started" && record.attempt.lockedUntil > now) return record;
  const ended = record.state === "started" ? outcomeUnknown(record, record.attempt.lockedUntil) : record;
  if (ended.expiresAt > now) return ended;
  const left = remembered(ended);
  return left !== null && left.expiresAt > now ? left : null;
}

/**
 * What is left of a record that has expired; `null`: nothing. A failed record whose attempts certainly had no effect need not be
 * remembered.
 */
function remembered(record: Exclude<IdempotencyRecord, Started>): Remembered | null {
  const { state, fingerprint, attempt, policy } = record;
  const { rememberMs, retentionMs, unknownRetentionMs } = policy;
  if (rememberMs === undefined || state === "remembered" || (state === "failed" && !attempt.mayHaveActed)) return null;
  const keptMs = state === "unknown" ? unknownRetentionMs : retentionMs;
  const status = state === "completed" ? record.status : null;
  const expiresAt = later(record.expiresAt, durationMs(rememberMs - keptMs));
  // Its attempt's doubt has no further consequence.
  return { state: "remembered", fingerprint, attempt: settled(attempt), policy, status, expiresAt };
}

function settled(attempt: Attempt): Attempt {
  return { ...attempt, mayHaveActed: false };
}

/** The record after an attempt that may have taken effect. The time that it is kept counts from `since`. */
function outcomeUnknown(record: Started | Failed | Unknown, since: EpochMs): Failed | Unknown {
  const { fingerprint, policy } = record;
  const attempt = { ...record.attempt, mayHaveActed: true };
  switch (policy.unknown) {
    case "retry": {
      const expiresAt = later(since, policy.retentionMs);
      // The attempt may still be running at the origin. Attempts never overlap, so the next one waits until the lock ends.
      return { state: "failed", fingerprint, attempt, policy, retryFrom: attempt.lockedUntil, expiresAt };
    }
    case "hold":
    case "verify": {
      // Doubt does not expire with the retention: a retry after that could be a second effect.
      const expiresAt = later(since, policy.unknownRetentionMs);
      const verifyAt = policy.unknown === "verify" ? attempt.lockedUntil : null;
      return { state: "unknown", fingerprint, attempt, policy, expiresAt, verifyAt, verifications: 0 };
    }
  }
}

/** `expired` is the record that has expired, if there was one. */
function stepWithoutRecord(
  expired: IdempotencyRecord | null,
  event: LifeCycleEvent,
  policy: Policy,
  now: EpochMs,
): Step {
  switch (event.type) {
    case "request": {
      const { fingerprint, attemptId, home } = event;
      switch (home.kind) {
        case "own":
          return start(fingerprint, { id: attemptId, number: 1, mayHaveActed: false }, policy, now);
        case "moved":
          // If the expired record stayed, a clock that goes back would replay it while an attempt runs elsewhere.
          return { record: null, reply: { type: "not-here", home }, deadline: null };
        case "ask":
        case "unnamed":
          return unchanged(expired, { type: "not-here", home });
      }
    }
    case "ask":
      // As above: the asking object may start an attempt.
      return { record: null, reply: { type: "absent" }, deadline: null };
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
    case "tick":
      return { record: null, reply: { type: "nothing-due" }, deadline: null };
  }
}

function applyRequest(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord,
  attemptId: AttemptId,
  policy: Policy,
  now: EpochMs,
): Step {
  switch (current.state) {
    case "started": {
      const retryFrom = current.attempt.lockedUntil;
      return unchanged(record, { type: "in-flight", record: current, retryFrom });
    }
    case "failed": {
      const { retryFrom, fingerprint, attempt } = current;
      // The same request may be delivered twice. The id of an ended attempt must never name a second attempt.
      const isSpent = attemptId === attempt.id;
      const next = { id: attemptId, number: attempt.number + 1, mayHaveActed: attempt.mayHaveActed };
      if (now >= retryFrom && !isSpent) return start(fingerprint, next, policy, now);
      return unchanged(record, { type: "in-flight", record: current, retryFrom });
    }
    case "unknown":
      return unchanged(record, { type: "outcome-unknown", record: current });
    case "completed":
      return unchanged(record, { type: current.kept ? "replay" : "not-kept", record: current });
    case "remembered":
      return unchanged(record, { type: "key-expired", record: current });
  }
}

function start(
  fingerprint: Fingerprint,
  of: Pick<Attempt, "id" | "number" | "mayHaveActed">,
  policy: Policy,
  now: EpochMs,
): Step {
  const attempt = { ...of, startedAt: now, lockedUntil: later(now, policy.lockMs) };
  const record: Started = { state: "started", fingerprint, attempt, policy };
  return changed(record, { type: "start", record });
}

type AttemptEvent = Exclude<LifeCycleEvent, OperatorEvent | { type: "request" | "ask" | "verify" | "tick" }>;

/** Applies an event of the attempt that owns the record, even if it arrives after the lock has ended. */
function applyAttemptEvent(current: Started | Failed | Unknown, event: AttemptEvent, now: EpochMs): IdempotencyRecord {
  const { fingerprint, attempt, policy } = current;
  const expiresAt = later(now, policy.retentionMs);
  switch (event.type) {
    case "result": {
      const { status, kept, verified } = event;
      // The attempt's own result ends its lock.
      const lockedUntil = verified ? attempt.lockedUntil : earliest(attempt.lockedUntil, now);
      const done = { ...settled(attempt), lockedUntil };
      return { state: "completed", fingerprint, attempt: done, policy, status, kept, completedAt: now, expiresAt };
    }
    case "refused":
      return { state: "failed", fingerprint, attempt, policy, retryFrom: now, expiresAt };
    case "ambiguous":
      // An attempt may withdraw what it reported before, so its outcome becomes unknown now at the earliest.
      return current.state === "unknown" ? current : outcomeUnknown(current, latest(attempt.lockedUntil, now));
    case "absent":
      // While the attempt may still be running, "not found" proves nothing: it may act after the question.
      if (current.state !== "unknown" || current.verifyAt === null) return current;
      if (event.askedAt < attempt.lockedUntil) return current;
      return { state: "failed", fingerprint, attempt: settled(attempt), policy, retryFrom: now, expiresAt };
    case "renew":
      return renewed(current, now);
  }
}

/** The record of an attempt that is known to be running, however late its renewal comes. */
export function renewed({ fingerprint, attempt, policy }: Started | Failed | Unknown, now: EpochMs): Started {
  return { state: "started", fingerprint, attempt: { ...attempt, lockedUntil: later(now, policy.lockMs) }, policy };
}

/** The pause between two verifications starts at 2 s, doubles each time, and is at most an hour: a record may wait for a year. */
const MIN_PAUSE_MS = 2000;
const MAX_PAUSE_MS = 3_600_000;

/**
 * The record after one question to the origin. It is written before the origin is asked, so that a crash does not lose the
 * pause. A duplicate request may ask at any time; only a question that was due makes the next pause longer.
 */
function afterQuestion(record: Unknown, verifyAt: EpochMs, now: EpochMs): Unknown {
  if (now < verifyAt) return record;
  const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(record.verifications, 20));
  // An expired record is never verified, so `verifyAt` never exceeds `expiresAt` and is always the record's deadline.
  const next = earliest(later(now, durationMs(pauseMs)), record.expiresAt);
  return { ...record, verifyAt: next, verifications: record.verifications + 1 };
}

function changed(record: IdempotencyRecord, reply: Reply): Step {
  return { record, reply, deadline: deadlineOf(record) };
}

function unchanged(record: IdempotencyRecord | null, reply: Reply): Step {
  return { record, reply, deadline: record === null ? null : deadlineOf(record) };
}
