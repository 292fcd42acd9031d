// Of what operators get alerts, and how often. A disturbance that hits one operation often hits thousands, so each object tells of the
// first one at once, and of the others together at the end of a quarter of an hour. Pure: no clock, no chance, no I/O.

import type { DeadReason } from "./delivery.ts";
import type { IdempotencyRecord, Unknown } from "./record.ts";
import { dueAt, type DurationMs, durationMs, epochMs, type EpochMs, isPauseOn, timeAfter } from "./units.ts";

/**
 * `outcome-unknown`: an operation may or may not have taken effect, and nobody will find out by himself. `outcome-still-unknown`: one has been undecided for a
 * day. `dead-letter`: a queue's message is given up. `dead-event`: an event is given up. `silent-shard`: an object does not answer.
 */
export const ALERTS = [
  "outcome-unknown",
  "outcome-still-unknown",
  "dead-letter",
  "dead-event",
  "silent-shard",
] as const;
export type Alert = (typeof ALERTS)[number];

/** An object tells at most once in this time of one thing, however often it happens. */
export const WINDOW_MS = durationMs(900_000);

export const STILL_UNKNOWN_MS = durationMs(86_400_000);

/** Outcomes that are still unknown make an alert again after this time if nobody has decided. */
export const REMIND_MS = durationMs(7 * 86_400_000);

/** Outcomes that have been unknown for a day soon after each other share an alert. */
export const LOOK_AGAIN_MS = durationMs(3_600_000);

/** A shard that is asked once and does not answer may have been restarted. */
export const SILENT_PASSES = 2;

/** The name under which an object remembers when it looks for outcomes that are still unknown. */
const STILL_UNKNOWN: Alert = "outcome-still-unknown";

/** What an object remembers of its alerts. */
export interface AlertState {
  readonly name: string;
  /** When the last one was sent. */
  readonly at: EpochMs;
  /** What has come since then, and has had no alert. */
  readonly count: number;
  /** When the alarm has to look at it; `null`: not before it happens again. */
  readonly due: EpochMs | null;
}

/** It has happened, perhaps several times. An alert at once, with the number of others that have had none yet; or `null`: counted, for a later one. */
export function raiseAlert(
  last: AlertState | null,
  name: string,
  now: EpochMs,
  times = 1,
): { readonly more: number | null; readonly state: AlertState } {
  const isOver = last === null || !isPauseOn(timeAfter(last.at, WINDOW_MS), WINDOW_MS, now);
  if (isOver) return { more: last?.count ?? 0, state: { name, at: now, count: 0, due: null } };
  return { more: null, state: { ...last, count: last.count + times, due: timeAfter(last.at, WINDOW_MS) } };
}

/** How far away an alarm may be for an alert. */
function longestWait(name: string): DurationMs {
  return name === STILL_UNKNOWN ? REMIND_MS : WINDOW_MS;
}

/** Those that a clock has put too far away that was ahead: they are due now. */
export function alertsBroughtBack(states: readonly AlertState[], now: EpochMs): readonly AlertState[] {
  return states.flatMap((state) => {
    const due = state.due === null ? null : dueAt(state.due, longestWait(state.name), now);
    return due === state.due ? [] : [{ ...state, due }];
  });
}

/** After the rest has had its alert. */
export function withRestSent({ name }: AlertState, now: EpochMs): AlertState {
  return { name, at: now, count: 0, due: null };
}

/** Undecided operations: how many are a day old, since when the oldest is, and since when the oldest younger one. */
export interface UnknownOutcomes {
  readonly old: number;
  readonly oldestSince: EpochMs | null;
  readonly nextSince: EpochMs | null;
}

/**
 * An outcome has become unknown: what changes in when the alarm looks for old ones; `null`: nothing, because it looks soon enough. When all others
 * have had an alert, the next look may be a week away.
 */
export function expectStillUnknown(last: AlertState | null, name: string, since: EpochMs): AlertState | null {
  const due = timeAfter(since, STILL_UNKNOWN_MS);
  if (last === null) return { name, at: since, count: 0, due };
  return last.due === null || last.due > due ? { ...last, due } : null;
}

/** When the alarm looks for outcomes that are still unknown again; `null`: there are none. */
export function lookAgainAt({ old, nextSince }: UnknownOutcomes, now: EpochMs): EpochMs | null {
  const next =
    nextSince === null ? null : Math.max(timeAfter(nextSince, STILL_UNKNOWN_MS), timeAfter(now, LOOK_AGAIN_MS));
  const remind = old === 0 ? null : timeAfter(now, REMIND_MS);
  if (next === null || remind === null) return next === null ? remind : epochMs(next);
  return epochMs(Math.min(next, remind));
}

/** Whether a step has left the outcome of the last attempt unknown. */
export function becomesUnknown(before: IdempotencyRecord | null, after: IdempotencyRecord | null): after is Unknown {
  return after?.state === "unknown" && before?.state !== "unknown";
}

/** A message's dead letter has been accepted. */
export interface DeadLetterReport {
  readonly alert: "dead-letter";
  readonly queue: string;
  readonly messageId: string;
  readonly reason: DeadReason;
  readonly recordId: string | null;
}

/** Which objects did not answer when all `watched` were asked. */
export interface SilenceReport {
  readonly alert: "silent-shard";
  readonly watched: readonly string[];
  readonly silent: readonly string[];
}

/** What a Worker reports to an object that keeps alerts: it has no storage of its own. */
export type AlertReport = DeadLetterReport | SilenceReport;
