// What has happened to a record, for an operator who has to decide about it: each attempt with its end, each verification
// that the origin answered, each change by an operator. The state machine never reads it. Times are those of the event, not
// of the moment when it was noticed, so reading a record changes nothing here either.

import type { ClaimNote, LifeCycleEvent, NoteEvent } from "./events.ts";
import { type Attempt, type IdempotencyRecord, isAbandoned } from "./record.ts";
import type { EpochMs } from "./units.ts";
import type { EndReason } from "./verdict.ts";
import { type FindingEvidence, VERIFICATION_FINDINGS, type VerificationFinding } from "./verification-answer.ts";

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
  /** A consumer was granted the attempt, and said something of its claim. */
  | ({ readonly type: "claim"; readonly attempt: number; readonly at: EpochMs } & ClaimNote)
  /** The origin was asked whether the attempt took effect. `saw`: what of its answer said so. */
  | {
      readonly type: "verification";
      readonly attempt: number;
      readonly at: EpochMs;
      readonly answer: "done" | "absent" | OpenFinding["answer"];
      readonly saw?: FindingEvidence | null;
      /** Of a finding that leaves the outcome open: from when on "it did not happen" counts; `null`: it cannot be said. */
      readonly countsFrom?: EpochMs | null;
    }
  /**
   * An operator's change, a client's that cancelled its accepted request or gave its key up, or the gateway's own word that what is stored of
   * a request is unreadable, so that it cannot be tried.
   */
  | {
      readonly type: "change";
      readonly action: OperatorChange | "cancel" | "abandon" | "unreadable";
      readonly at: EpochMs;
      readonly by: string;
      readonly reason: string;
    }
  /** What an operator has written down about the record. */
  | { readonly type: "note"; readonly at: EpochMs; readonly by: string; readonly text: string };

type OpenFindingName = Exclude<VerificationFinding, "happened" | "not-happened">;

export const OPEN_FINDINGS: readonly OpenFindingName[] = VERIFICATION_FINDINGS.filter(
  (finding) => finding !== "happened" && finding !== "not-happened",
);

/** A finding that leaves the outcome open. */
export interface OpenFinding {
  readonly answer: OpenFindingName;
  readonly saw: FindingEvidence | null;
  readonly countsFrom: EpochMs | null;
}

/** What an operator may decide about a record: allow another attempt, supply its response, or erase it. */
export type OperatorChange = "release" | "resolve" | "forget";

/** Only the latest are kept, because a key may be retried without end. */
const MAX_EVENTS = 50;
/** So that notes never take the place of the attempts that they are about. */
const MAX_NOTES = 10;

/** The history after `event` changed `before` into `after` at `now`. It is the same array if nothing is added. */
export function updateHistory(
  history: readonly TimelineEvent[],
  before: IdempotencyRecord | null,
  event: LifeCycleEvent,
  after: IdempotencyRecord | null,
  now: EpochMs,
): readonly TimelineEvent[] {
  // A record that expired has no history in common with its successor.
  const isNew = before === null || isNewRecord(before, after) || after?.state === "remembered";
  if (after === null) return isNew ? [] : history;
  const past = isNew ? [] : history;
  const own = isNew ? null : eventOf(before, event, now);
  const happened = isNew
    ? []
    : [lostAttempt(before, event, now), own === null || isRepeated(own, history) ? null : own];
  const added = [...happened, claimNote(before, event, after, now)].filter((one) => one !== null);
  return added.length === 0 ? past : latest([...past, ...added]);
}

/** The history with one more note. */
export function historyWithNote(
  history: readonly TimelineEvent[],
  { by, text }: NoteEvent,
  at: EpochMs,
): readonly TimelineEvent[] {
  const notes = history.filter(isNote);
  const oldest = notes.length < MAX_NOTES ? undefined : notes[0];
  return latest([...history.filter((event) => event !== oldest), { type: "note", at, by, text } as const]);
}

/**
 * The history after the origin was asked about the attempt and could not say what became of it. Of such findings, only the latest is kept, since
 * a record may be asked about for a year. It is the same array if nothing else was found than the last time.
 */
export function historyWithFinding(
  history: readonly TimelineEvent[],
  attempt: number,
  finding: OpenFinding,
  at: EpochMs,
): readonly TimelineEvent[] {
  const before = history.findLast(isOpenFinding);
  const event = { type: "verification", attempt, at, ...finding } as const;
  if (before !== undefined && JSON.stringify({ ...before, at }) === JSON.stringify(event)) return history;
  return latest([...history.filter((one) => !isOpenFinding(one)), event]);
}

function isOpenFinding(event: TimelineEvent): boolean {
  return event.type === "verification" && event.answer !== "done" && event.answer !== "absent";
}

/** The latest events, besides notes. */
function latest(history: readonly TimelineEvent[]): readonly TimelineEvent[] {
  const excess = history.filter((event) => !isNote(event)).slice(0, -MAX_EVENTS);
  return excess.length === 0 ? history : history.filter((event) => !excess.includes(event));
}

function isNote(event: TimelineEvent): boolean {
  return event.type === "note";
}

/** What the consumer says of a claim that has been granted now; `null`: nothing. */
function claimNote(
  before: IdempotencyRecord | null,
  event: LifeCycleEvent,
  { attempt }: IdempotencyRecord,
  now: EpochMs,
): TimelineEvent | null {
  if (event.type !== "claim" || attempt.id !== event.attemptId || isSameAttempt(before, attempt)) return null;
  const { holder, position } = event.note;
  if (holder === null && position === null) return null;
  return { type: "claim", attempt: attempt.number, at: now, holder, position };
}

const UNREADABLE = "The stored request cannot be read, so no attempt is made.";

/** What is said each time that a request is looked at is written once. */
function isRepeated(added: TimelineEvent, history: readonly TimelineEvent[]): boolean {
  return isUnreadable(added) && isUnreadable(lastEvent(history));
}

/** Whether the event says that the stored request cannot be read. */
export function isUnreadable(event: TimelineEvent | undefined): boolean {
  return event?.type === "change" && event.action === "unreadable";
}

/** Everything that happened, oldest first. The record's own state adds the last entry. */
export function timelineOf(
  history: readonly TimelineEvent[],
  record: IdempotencyRecord,
  now: EpochMs,
): readonly TimelineEvent[] {
  const { attempt } = record;
  switch (record.state) {
    case "started": {
      const isLost = attempt.lockedUntil <= now;
      const own = isLost ? ended(attempt, attempt.lockedUntil, "lost") : running(attempt);
      return inOrder(history, own, isLost ? attempt.lockedUntil : attempt.startedAt);
    }
    case "completed": {
      const result = { ...ended(attempt, record.completedAt, "result"), status: record.status };
      return isResolved(history) ? history : inOrder(history, result, record.completedAt);
    }
    case "waiting":
    case "failed":
    case "unknown":
      return history;
    // Erased with the response. The record itself says when its client gave the key up first.
    case "remembered":
      if (!isAbandoned(record)) return [];
      return [{ type: "change", action: "abandon", at: attempt.startedAt, by: "client", reason: "" }];
  }
}

/** What happened at `at`, before the notes that were written later. */
function inOrder(history: readonly TimelineEvent[], own: TimelineEvent, at: EpochMs): readonly TimelineEvent[] {
  const before = history.findLastIndex((event) => event.type !== "note" || event.at < at) + 1;
  return [...history.slice(0, before), own, ...history.slice(before)];
}

/** Whether an operator has given the response. */
export function isResolved(history: readonly TimelineEvent[]): boolean {
  const last = lastEvent(history);
  return last?.type === "change" && last.action === "resolve";
}

/** How the attempt ended of which nobody knows whether it took effect. */
export type UnknownReason = EndReason | { readonly kind: "lost" };

/** Of a record whose outcome is unknown. Without an end of its attempt, time has ended it: its lock. */
export function unknownReason(history: readonly TimelineEvent[]): UnknownReason {
  const last = history.findLast((event) => event.type === "attempt");
  return last?.type === "attempt" && last.reason !== null ? last.reason : { kind: "lost" };
}

/** The last thing that happened, whatever was noted since. */
export function lastEvent(history: readonly TimelineEvent[]): TimelineEvent | undefined {
  return history.findLast((event) => !isNote(event));
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
    case "unreadable":
    case "park":
    case "look":
    case "abandon":
    case "cancel":
    case "absent":
    case "release":
    case "resolve":
    case "forget":
    case "request":
    case "claim":
    case "renew":
    case "verify":
    case "tick":
      return null;
  }
}

/** The latest change by an operator, not by a client or the gateway; `null`: none since. */
export function lastDecisionSince(history: readonly TimelineEvent[], since: EpochMs): OperatorChange | null {
  return history.filter(isDecision).findLast(({ at }) => at >= since)?.action ?? null;
}

function isDecision(past: TimelineEvent): past is TimelineEvent & { type: "change"; action: OperatorChange } {
  return past.type === "change" && ["release", "resolve", "forget"].includes(past.action);
}

/** Whether an attempt has ended since: whoever decided then saw it in flight, and has not asked what came of it. */
export function hasEndedSince(timeline: readonly TimelineEvent[], since: EpochMs): boolean {
  return timeline.some((past) => past.type === "attempt" && past.endedAt !== null && past.endedAt > since);
}

/** Attempt 1 begins a new record; every later attempt has the previous number plus one. */
function isNewRecord(before: IdempotencyRecord, after: IdempotencyRecord | null): boolean {
  if (after === null || isSameAttempt(before, after.attempt)) return false;
  // The first attempt of an accepted request continues what its acceptance began.
  return after.attempt.number === 0 || (after.attempt.number === 1 && before.attempt.number !== 0);
}

/** The same id may name another attempt after the record has expired. */
function isSameAttempt(before: IdempotencyRecord | null, { id, startedAt }: Attempt): boolean {
  return before?.attempt.id === id && before.attempt.startedAt === startedAt;
}

function eventOf({ attempt }: IdempotencyRecord, event: LifeCycleEvent, now: EpochMs): TimelineEvent | null {
  switch (event.type) {
    case "refused":
    case "ambiguous":
      return { ...ended(attempt, now, event.type), reason: event.reason };
    case "result":
      return event.verified ? { ...verification(attempt, now, event.saw), answer: "done" } : null;
    case "absent":
      return { ...verification(attempt, now, event.saw), answer: "absent" };
    case "release":
    case "resolve":
    case "forget":
      return { type: "change", action: event.type, at: now, by: event.by, reason: event.reason };
    case "cancel":
      return { type: "change", action: event.type, at: now, by: "client", reason: "" };
    case "unreadable":
      return { type: "change", action: event.type, at: now, by: "gateway", reason: UNREADABLE };
    case "due":
    case "park":
    case "look":
    case "abandon":
    case "request":
    case "claim":
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
  const isFromOwner = "attemptId" in event && !isAsking(event) && event.attemptId === before.attempt.id;
  return isFromOwner ? null : ended(before.attempt, before.attempt.lockedUntil, "lost");
}

/** A request or a claim may come again with the id of a lost attempt. */
function isAsking({ type }: LifeCycleEvent): boolean {
  return type === "request" || type === "claim";
}

function verification({ number }: Attempt, at: EpochMs, saw: FindingEvidence | null | undefined) {
  return {
    type: "verification",
    attempt: number,
    at,
    ...(saw === null || saw === undefined ? null : { saw }),
  } as const;
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
