// What has happened to a record, for an operator who has to decide about it: each attempt with its end, each verification
// that the origin answered, each change by an operator. The state machine never reads it. Times are those of the event, not
// of the moment when it was noticed, so reading a record changes nothing here either.

import type { LifeCycleEvent } from "./events.ts";
import type { Attempt, IdempotencyRecord } from "./record.ts";
import type { EpochMs } from "./units.ts";
import type { EndReason } from "./verdict.ts";

/** How attempts end. `lost`: the lock ended before the attempt reported its end. */
export const ATTEMPT_VERDICTS = ["result", "refused", "ambiguous", "lost"] as const;

export type AttemptVerdict = (typeof ATTEMPT_VERDICTS)[number];

export type TimelineEvent =
  | {
      readonly type: "attempt";
      readonly attempt: number;
      readonly startedAt: EpochMs;
      /** `null` while it runs. For a lost attempt, the end of its lock. */
      readonly endedAt: EpochMs | null;
      readonly verdict: AttemptVerdict | null;
      readonly reason: EndReason | null;
      /** The result's status; `null` for any other end. */
      readonly status: number | null;
    }
  /** The origin was asked whether the attempt took effect. */
  | {
      readonly type: "verification";
      readonly attempt: number;
      readonly at: EpochMs;
      readonly answer: "done" | "absent";
    }
  /** An operator's change, or a client's that cancelled its accepted request. */
  | {
      readonly type: "change";
      readonly action: Change | "cancel";
      readonly at: EpochMs;
      readonly by: string;
      readonly reason: string;
    };

/** What an operator may do to a record: allow another attempt, supply its response, or erase it. */
export type Change = "release" | "resolve" | "forget";

/** Only the latest are kept, because a key may be retried without end. */
const MAX_EVENTS = 50;

/** The history after `event` changed `before` into `after` at `now`. It is the same array if nothing is added. */
export function updateHistory(
  history: readonly TimelineEvent[],
  before: IdempotencyRecord | null,
  event: LifeCycleEvent,
  after: IdempotencyRecord | null,
  now: EpochMs,
): readonly TimelineEvent[] {
  // A record that expired has no history in common with its successor.
  const past = before === null || isNewRecord(before, after) || after?.state === "remembered" ? [] : history;
  if (before === null || after === null || past !== history) return past;
  const lost = lostAttempt(before, event, now);
  const added = eventOf(before, event, now);
  if (lost === null && added === null) return history;
  return [...history, ...(lost === null ? [] : [lost]), ...(added === null ? [] : [added])].slice(-MAX_EVENTS);
}

/** Everything that happened, oldest first. The record's own state adds the last entry. */
export function timelineOf(
  history: readonly TimelineEvent[],
  record: IdempotencyRecord,
  now: EpochMs,
): readonly TimelineEvent[] {
  const { attempt } = record;
  switch (record.state) {
    case "started":
      return [...history, attempt.lockedUntil <= now ? ended(attempt, attempt.lockedUntil, "lost") : running(attempt)];
    case "completed": {
      const last = history.at(-1);
      const isResolved = last?.type === "change" && last.action === "resolve";
      const result = { ...ended(attempt, record.completedAt, "result"), status: record.status };
      return isResolved ? history : [...history, result];
    }
    case "waiting":
    case "failed":
    case "unknown":
      return history;
    // Erased with the response.
    case "remembered":
      return [];
  }
}

/** How the attempt of `before` ended, if `event` shows that; otherwise `null`. */
export function verdictOf(before: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): AttemptVerdict | null {
  if (lostAttempt(before, event, now) !== null) return "lost";
  switch (event.type) {
    case "refused":
    case "ambiguous":
      return event.type;
    case "result":
      return event.verified ? null : "result";
    case "due":
    case "park":
    case "look":
    case "cancel":
    case "absent":
    case "release":
    case "resolve":
    case "forget":
    case "request":
    case "ask":
    case "renew":
    case "verify":
    case "tick":
      return null;
  }
}

/** Attempt 1 begins a new record; every later attempt has the previous number plus one. */
function isNewRecord(before: IdempotencyRecord, after: IdempotencyRecord | null): boolean {
  if (after === null || after.attempt.id === before.attempt.id) return false;
  // The first attempt of an accepted request continues what its acceptance began.
  return after.attempt.number === 0 || (after.attempt.number === 1 && before.attempt.number !== 0);
}

function eventOf({ attempt }: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): TimelineEvent | null {
  switch (event.type) {
    case "refused":
    case "ambiguous":
      return { ...ended(attempt, now, event.type), reason: event.reason };
    case "result":
      return event.verified ? { type: "verification", attempt: attempt.number, at: now, answer: "done" } : null;
    case "absent":
      return { type: "verification", attempt: attempt.number, at: now, answer: "absent" };
    case "release":
    case "resolve":
    case "forget":
      return { type: "change", action: event.type, at: now, by: event.by, reason: event.reason };
    case "cancel":
      return { type: "change", action: event.type, at: now, by: "client", reason: "" };
    case "due":
    case "park":
    case "look":
    case "request":
    case "ask":
    case "renew":
    case "verify":
    case "tick":
      return null;
  }
}

/** The attempt of `before`, if the record still says that it runs although its lock has ended. */
function lostAttempt(before: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): TimelineEvent | null {
  if (before.state !== "started" || before.attempt.lockedUntil > now) return null;
  // The attempt itself reports late, so it was not lost.
  const isFromOwner = "attemptId" in event && event.type !== "request" && event.attemptId === before.attempt.id;
  return isFromOwner ? null : ended(before.attempt, before.attempt.lockedUntil, "lost");
}

function running({ number, startedAt }: Attempt): TimelineEvent {
  return { type: "attempt", attempt: number, startedAt, endedAt: null, verdict: null, reason: null, status: null };
}

function ended(
  { number, startedAt }: Attempt,
  endedAt: EpochMs,
  verdict: AttemptVerdict,
): Extract<TimelineEvent, { type: "attempt" }> {
  return { type: "attempt", attempt: number, startedAt, endedAt, verdict, reason: null, status: null };
}
