// What has happened to a record, for those who have to decide about it: each attempt with its end, each answer of the origin
// that was asked, each change by an operator. Decisions never read it. Times are those of the event, not those of whoever
// noticed it, so that looking changes nothing here either.

import type { LifeCycleEvent } from "./events.ts";
import type { Attempt, IdempotencyRecord } from "./record.ts";
import type { EpochMs } from "./units.ts";
import type { EndReason } from "./verdict.ts";

/** How attempts end. `lost`: the lock ended, and nobody had heard of it. */
export const ATTEMPT_VERDICTS = ["result", "refused", "ambiguous", "lost"] as const;

export type AttemptVerdict = (typeof ATTEMPT_VERDICTS)[number];

export type Happening =
  | {
      readonly type: "attempt";
      readonly attempt: number;
      readonly startedAt: EpochMs;
      /** `null` while it runs. Of a lost one, the end of its lock. */
      readonly endedAt: EpochMs | null;
      readonly verdict: AttemptVerdict | null;
      readonly reason: EndReason | null;
      /** The status of a result. */
      readonly status: number | null;
    }
  /** The origin was asked whether the attempt took effect. */
  | {
      readonly type: "verification";
      readonly attempt: number;
      readonly at: EpochMs;
      readonly answer: "done" | "absent";
    }
  /** An operator's change. */
  | {
      readonly type: "change";
      readonly action: Change;
      readonly at: EpochMs;
      readonly by: string;
      readonly reason: string;
    };

/** What an operator may do to a record: let another attempt start, give it its response, or erase it. */
export type Change = "release" | "resolve" | "forget";

/** A key that is tried again and again leaves its latest happenings. */
const MOST_HAPPENINGS = 50;

/** What is to be remembered beyond `after`, which `event` made of `before` at `now`. The same array when nothing is added. */
export function remember(
  history: readonly Happening[],
  before: IdempotencyRecord | null,
  event: LifeCycleEvent,
  after: IdempotencyRecord | null,
  now: EpochMs,
): readonly Happening[] {
  // What expired is another record.
  const past = before === null || isNewRecord(before, after) ? [] : history;
  if (before === null || after === null || past !== history) return past;
  const lost = lostAttempt(before, event, now);
  const added = happeningOf(before, event, now);
  if (lost === null && added === null) return history;
  return [...history, ...(lost === null ? [] : [lost]), ...(added === null ? [] : [added])].slice(-MOST_HAPPENINGS);
}

/** Everything that happened, oldest first; what the record itself says stands last. */
export function timelineOf(
  history: readonly Happening[],
  record: IdempotencyRecord,
  now: EpochMs,
): readonly Happening[] {
  const { attempt } = record;
  switch (record.state) {
    case "started":
      return [...history, attempt.lockedUntil <= now ? ended(attempt, attempt.lockedUntil, "lost") : running(attempt)];
    case "completed": {
      const last = history.at(-1);
      const isOperators = last?.type === "change" && last.action === "resolve";
      const result = { ...ended(attempt, record.completedAt, "result"), status: record.status };
      return isOperators ? history : [...history, result];
    }
    case "failed":
    case "unknown":
      return history;
  }
}

/** How the attempt of `before` has ended, when `event` changes its record; `null` when it has not. */
export function verdictOf(before: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): AttemptVerdict | null {
  if (lostAttempt(before, event, now) !== null) return "lost";
  switch (event.type) {
    case "refused":
    case "ambiguous":
      return event.type;
    case "result":
      return event.verified ? null : "result";
    case "absent":
    case "release":
    case "resolve":
    case "forget":
    case "request":
    case "renew":
    case "verify":
    case "look":
      return null;
  }
}

/** A first attempt begins a record; every other one has the number of the one before and one. */
function isNewRecord(before: IdempotencyRecord, after: IdempotencyRecord | null): boolean {
  return after?.state === "started" && after.attempt.number === 1 && after.attempt.id !== before.attempt.id;
}

function happeningOf({ attempt }: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): Happening | null {
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
    case "request":
    case "renew":
    case "verify":
    case "look":
      return null;
  }
}

/** An attempt of which the record said until now that it runs, though its lock has ended. */
function lostAttempt(before: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): Happening | null {
  if (before.state !== "started" || before.attempt.lockedUntil > now) return null;
  // The owner's own word comes late: it was not lost.
  const isOwners = "attemptId" in event && event.type !== "request" && event.attemptId === before.attempt.id;
  return isOwners ? null : ended(before.attempt, before.attempt.lockedUntil, "lost");
}

function running({ number, startedAt }: Attempt): Happening {
  return { type: "attempt", attempt: number, startedAt, endedAt: null, verdict: null, reason: null, status: null };
}

function ended(
  { number, startedAt }: Attempt,
  endedAt: EpochMs,
  verdict: AttemptVerdict,
): Extract<Happening, { type: "attempt" }> {
  return { type: "attempt", attempt: number, startedAt, endedAt, verdict, reason: null, status: null };
}
