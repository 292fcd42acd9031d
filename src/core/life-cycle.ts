// The state machine of one record: from a record, an event, a policy and the time to the next record, the reply and the
// next deadline. Total and pure. It decides alone whether the origin may be called; nothing else may.
//
// Every event first sees the record as time has left it (`settle`): a lock that ended, a record that expired. Whether
// an alarm looked in between makes therefore no difference to what any later event leaves behind.

import { type AttemptId, durationMs, earliest, type EpochMs, type Fingerprint, later, latest } from "./units.ts";
import type { LifeCycleEvent, OperatorEvent, Reply, Step, Unchangeable } from "./events.ts";
import type { Completed, Failed, IdempotencyRecord, Policy, Started, Unknown } from "./record.ts";

/**
 * Takes one step. `policy` is the one in force for the request; an attempt that runs keeps the policy of its own claim,
 * so a changed configuration never changes the promise under which an attempt was started.
 */
export function step(record: IdempotencyRecord | null, event: LifeCycleEvent, policy: Policy, now: EpochMs): Step {
  const current = settle(record, now);
  if (current === null) return stepNone(event, policy, now);
  switch (event.type) {
    case "request":
      if (event.fingerprint !== current.fingerprint) return unchanged(record, { type: "mismatch" });
      return request(record, current, event.attemptId, policy, now);
    case "result":
    case "refused":
    case "ambiguous":
    case "renew":
    case "absent":
      if (event.attemptId !== current.attempt.id || current.state === "completed")
        return unchanged(record, { type: "superseded" });
      return changed(endOrRenew(current, event, now), { type: "settled" });
    case "verify": {
      if (current.state !== "unknown" || current.verifyAt === null) return changed(current, { type: "seen" });
      const asked = askedOnce(current, current.verifyAt, now);
      return changed(asked, { type: "ask", record: asked });
    }
    case "look":
      return changed(current, { type: "seen" });
    case "release":
    case "resolve":
    case "forget":
      return operate(record, current, event, now);
  }
}

/**
 * An operator's change. Attempts never overlap, whoever decides: as long as one may be at work in the origin, no other can
 * be let in. A completed record can only be forgotten: the first answer is the answer.
 */
function operate(
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
      if (current.state === "completed") return refuse("completed");
      const retryFrom = current.state === "failed" ? current.retryFrom : latest(now, attempt.lockedUntil);
      return changed({ state: "failed", fingerprint, attempt, policy, retryFrom, expiresAt }, { type: "changed" });
    }
    case "resolve": {
      if (current.state === "completed") return refuse("completed");
      const { status } = event;
      // A response may be given at once. That nobody else is let in before remains.
      const given = { ...attempt, lockedUntil: current.state === "failed" ? current.retryFrom : attempt.lockedUntil };
      const completed = { state: "completed", fingerprint, attempt: given, policy, status, kept: true } as const;
      return changed({ ...completed, completedAt: now, expiresAt }, { type: "changed" });
    }
    case "forget":
      if (mayBeAtWork(current, now)) return refuse("in-flight");
      return { record: null, reply: { type: "changed" }, deadline: null };
  }
}

function mayBeAtWork(record: Failed | Unknown | Completed, now: EpochMs): boolean {
  switch (record.state) {
    case "failed":
      return record.retryFrom > now;
    case "unknown":
    case "completed":
      return record.attempt.lockedUntil > now;
  }
}

/** When time alone next changes the record. */
export function deadlineOf(record: IdempotencyRecord): EpochMs {
  switch (record.state) {
    case "started":
      return record.attempt.lockedUntil;
    case "unknown":
      return record.verifyAt === null ? record.expiresAt : earliest(record.verifyAt, record.expiresAt);
    case "failed":
    case "completed":
      return record.expiresAt;
  }
}

/** The record as time has left it. Times are those of the lock's end, not those of whoever noticed. */
function settle(record: IdempotencyRecord | null, now: EpochMs): IdempotencyRecord | null {
  if (record === null) return null;
  if (record.state !== "started") return record.expiresAt > now ? record : null;
  if (record.attempt.lockedUntil > now) return record;
  const ended = outcomeUnknown(record, record.attempt.lockedUntil);
  return ended.expiresAt > now ? ended : null;
}

/** What an attempt leaves behind of which nobody knows whether it took effect; it is kept from `since` on. */
function outcomeUnknown(record: Started | Failed | Unknown, since: EpochMs): Failed | Unknown {
  const { fingerprint, attempt, policy } = record;
  const expiresAt = later(since, policy.retentionMs);
  switch (policy.unknown) {
    case "retry":
      // The attempt may still be at work in the origin: attempts never overlap, so the lock is waited for.
      return { state: "failed", fingerprint, attempt, policy, retryFrom: attempt.lockedUntil, expiresAt };
    case "hold":
      return { state: "unknown", fingerprint, attempt, policy, expiresAt, verifyAt: null, verifications: 0 };
    case "verify": {
      const verifyAt = attempt.lockedUntil;
      return { state: "unknown", fingerprint, attempt, policy, expiresAt, verifyAt, verifications: 0 };
    }
  }
}

function stepNone(event: LifeCycleEvent, policy: Policy, now: EpochMs): Step {
  switch (event.type) {
    case "request":
      return start(event.fingerprint, event.attemptId, 1, policy, now);
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
    case "look":
      return { record: null, reply: { type: "seen" }, deadline: null };
  }
}

function request(
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
      // The same request, delivered once more: the id of an attempt that has ended never names another one.
      const isSpent = attemptId === attempt.id;
      if (now >= retryFrom && !isSpent) return start(fingerprint, attemptId, attempt.number + 1, policy, now);
      return unchanged(record, { type: "in-flight", record: current, retryFrom });
    }
    case "unknown":
      return unchanged(record, { type: "outcome-unknown", record: current });
    case "completed":
      return unchanged(record, { type: current.kept ? "replay" : "not-kept", record: current });
  }
}

function start(fingerprint: Fingerprint, id: AttemptId, number: number, policy: Policy, now: EpochMs): Step {
  const attempt = { id, number, startedAt: now, lockedUntil: later(now, policy.lockMs) };
  const record: Started = { state: "started", fingerprint, attempt, policy };
  return changed(record, { type: "start", record });
}

type AttemptEvent = Exclude<LifeCycleEvent, OperatorEvent | { type: "request" | "verify" | "look" }>;

/** What the owner's word makes of the record, also when it comes after the lock has ended. */
function endOrRenew(current: Started | Failed | Unknown, event: AttemptEvent, now: EpochMs): IdempotencyRecord {
  const { fingerprint, attempt, policy } = current;
  const expiresAt = later(now, policy.retentionMs);
  switch (event.type) {
    case "result": {
      const { status, kept, verified } = event;
      // With the attempt's own word its lock has ended.
      const lockedUntil = verified ? attempt.lockedUntil : earliest(attempt.lockedUntil, now);
      const done = { ...attempt, lockedUntil };
      return { state: "completed", fingerprint, attempt: done, policy, status, kept, completedAt: now, expiresAt };
    }
    case "refused":
      return { state: "failed", fingerprint, attempt, policy, retryFrom: now, expiresAt };
    case "ambiguous":
      // An attempt that takes back what it has said before does so now: its doubt is no older than that.
      return current.state === "unknown" ? current : outcomeUnknown(current, latest(attempt.lockedUntil, now));
    case "absent":
      // As long as the attempt may be at work, that it has not happened says nothing.
      if (current.state !== "unknown" || current.verifyAt === null) return current;
      if (event.askedAt < attempt.lockedUntil) return current;
      return { state: "failed", fingerprint, attempt, policy, retryFrom: now, expiresAt };
    case "renew":
      return renewed(current, now);
  }
}

/** The record of an attempt that is known to live, however late its renewal comes. */
export function renewed({ fingerprint, attempt, policy }: Started | Failed | Unknown, now: EpochMs): Started {
  return { state: "started", fingerprint, attempt: { ...attempt, lockedUntil: later(now, policy.lockMs) }, policy };
}

/** The first pause between two questions to the origin, doubled each time, and the longest one. */
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Written before the origin is asked, so that a crash does not lose the pause. A duplicate may ask at any time; only the
 * questions that were due make the next pause longer.
 */
function askedOnce(record: Unknown, verifyAt: EpochMs, now: EpochMs): Unknown {
  if (now < verifyAt) return record;
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(record.verifications, 20));
  // What expires is not asked about any more, so that the next question's time is always the record's deadline.
  const next = earliest(later(now, durationMs(pauseMs)), record.expiresAt);
  return { ...record, verifyAt: next, verifications: record.verifications + 1 };
}

function changed(record: IdempotencyRecord, reply: Reply): Step {
  return { record, reply, deadline: deadlineOf(record) };
}

function unchanged(record: IdempotencyRecord | null, reply: Reply): Step {
  return { record, reply, deadline: record === null ? null : deadlineOf(record) };
}
