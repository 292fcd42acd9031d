// What people decide about a record: an operator, or the client of a monitor.

import { settledAttempt } from "./verdict.ts";
import { acceptedAnew } from "./schedule.ts";
import type { OperatorEvent, LifeCycleStep, RefusedChange } from "./events.ts";
import { ABANDONED_KEY, isAbandoned } from "./record.ts";
import type { ExpiringRecord, Failed, IdempotencyRecord, Policy, Waiting } from "./record.ts";
import { changedStep, outcomeReply, unchangedStep } from "./step.ts";
import { attemptId, type EpochMs, timeAfter, latestTime, NO_LOCK } from "./units.ts";

/**
 * An operator's change. Attempts never overlap, not even when an operator decides: while one may still be running at the
 * origin, no other may start. A completed record can only be forgotten, because its first answer is final, and so can a
 * remembered one.
 */
export function applyOperatorEvent(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord,
  event: OperatorEvent,
  now: EpochMs,
): LifeCycleStep {
  const refuse = (why: RefusedChange): LifeCycleStep => unchangedStep(record, { type: "unchangeable", why });
  if (current.state === "started") return refuse("in-flight");
  const { fingerprint, attempt, policy } = current;
  const lockedUntil = current.state === "failed" ? current.retryFrom : attempt.lockedUntil;
  switch (event.type) {
    case "release": {
      if (current.state === "completed" || current.state === "remembered") return refuse(current.state);
      const retryFrom = current.state === "failed" ? lockedUntil : latestTime(now, lockedUntil);
      // An operator who releases a record with an unknown outcome has decided that nothing took effect.
      const released = current.state === "unknown" ? settledAttempt(attempt) : attempt;
      const promise = current.state === "failed" ? undefined : current.accepted;
      if (promise !== undefined) {
        const anew = acceptedAnew(promise, attempt.number, now);
        const base = { fingerprint, attempt: released, policy, accepted: anew };
        return changedStep({ state: "waiting", ...base, startAt: retryFrom }, { type: "changed" });
      }
      // Counted from the end of the lock: the next attempt needs the number of this one, however far away a clock has put that end.
      const expiresAt = timeAfter(latestTime(now, lockedUntil), policy.retentionMs);
      return changedStep(
        { state: "failed", fingerprint, attempt: released, policy, retryFrom, expiresAt },
        { type: "changed" },
      );
    }
    case "resolve": {
      if (current.state === "completed" || current.state === "remembered") return refuse(current.state);
      const { status } = event;
      // The response is available at once. The lock stays, because the attempt may still be running: it blocks `forget`.
      const locked = { ...settledAttempt(attempt), lockedUntil };
      const completed = { state: "completed", fingerprint, attempt: locked, policy, status, kept: true } as const;
      // A lock that a clock has put far away is believed, so its record must not expire before it: then the next attempt would start.
      const expiresAt = latestTime(timeAfter(now, policy.retentionMs), lockedUntil);
      return changedStep({ ...completed, completedAt: now, expiresAt }, { type: "changed" });
    }
    case "forget":
      if (mayStillRun(current, now)) return refuse("in-flight");
      return { record: null, reply: { type: "changed" }, deadline: null };
  }
}

function mayStillRun(record: Waiting | ExpiringRecord, now: EpochMs): boolean {
  switch (record.state) {
    case "failed":
      return record.retryFrom > now;
    case "waiting":
    case "unknown":
    case "completed":
    case "remembered":
      return record.attempt.lockedUntil > now;
  }
}

/** What a monitor is answered: nothing of a request with another fingerprint, not even that there is one. */
export function lookAt(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord,
  fingerprintPrefix: string,
): LifeCycleStep {
  if (!current.fingerprint.startsWith(fingerprintPrefix)) return unchangedStep(record, { type: "unseen" });
  switch (current.state) {
    case "waiting":
    case "started":
      return unchangedStep(record, { type: "accepted", record: current, isNew: false });
    case "failed":
      return unchangedStep(record, { type: "given-up", record: current });
    case "unknown":
    case "completed":
    case "remembered":
      return unchangedStep(record, outcomeReply(current));
  }
}

/**
 * A client gives its key up, so that a new key is safe whatever of this one is still on its way. `current: null`: there is no record, and
 * what is on its way would begin one. What waits for its turn is cancelled by its monitor.
 */
export function abandonKey(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord | null,
  policy: Policy,
  now: EpochMs,
): LifeCycleStep {
  const soonest = timeAfter(now, policy.retentionMs);
  // Given up once more: each answer promises the whole time from then on.
  if (current?.state === "remembered" && isAbandoned(current)) {
    if (current.expiresAt >= soonest) return unchangedStep(record, { type: "abandoned" });
    return changedStep({ ...current, expiresAt: soonest }, { type: "abandoned" });
  }
  if (current !== null) {
    const { state, attempt } = current;
    if (state !== "failed" || attempt.mayHaveActed || mayStillRun(current, now))
      return unchangedStep(record, { type: "not-abandoned", record: current });
  }
  const attempt = { id: NO_ATTEMPT, number: 0, startedAt: now, lockedUntil: NO_LOCK, mayHaveActed: false };
  return changedStep(
    { state: "remembered", fingerprint: ABANDONED_KEY, attempt, policy, status: null, expiresAt: soonest },
    { type: "abandoned" },
  );
}

/** Of a key that was abandoned: no attempt of an exchange has this id. */
const NO_ATTEMPT = attemptId("abandoned");

/** Only what is not in flight, and cannot be, is cancelled; a monitor that cannot cancel gets what it would see. */
export function cancelRequest(
  record: IdempotencyRecord | null,
  current: IdempotencyRecord,
  fingerprintPrefix: string,
  now: EpochMs,
): LifeCycleStep {
  const seen = lookAt(record, current, fingerprintPrefix);
  if (seen.reply.type === "unseen" || current.state !== "waiting" || mayStillRun(current, now)) return seen;
  const { fingerprint, attempt, policy } = current;
  // Not erased, because a request that comes later may have to learn of the attempt that may have acted.
  const expiresAt = timeAfter(now, policy.retentionMs);
  const left: Failed = { state: "failed", fingerprint, attempt, policy, retryFrom: now, expiresAt };
  if (attempt.mayHaveActed) return changedStep(left, { type: "changed" });
  return { record: null, reply: { type: "changed" }, deadline: null };
}
