// Accepted requests: when their next attempt begins, and when no other does.

import type { PauseAdvice } from "./events.ts";
import type { ParkedMessage } from "./parked-message.ts";
import type { Attempt, Schedule, Acceptance, Waiting } from "./record.ts";
import { dueAt, durationMs, type DurationMs, type EpochMs, timeAfter, latestTime } from "./units.ts";

/** Where nobody says anything else: the middle of what chance gives. */
const NO_ADVICE: PauseAdvice = { jitter: 0.5, retryAfterMs: null };

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15 * 60_000;

/** So many of the longest pauses fit into the time until a request is given up. */
const LONGEST_PAUSES = 32;

/** The schedule of requests that are given up after `attempts`, or after this time. */
export function scheduleWithin(attempts: number, giveUpAfterMs: number): Schedule {
  const longestMs = Math.min(Math.floor(giveUpAfterMs / LONGEST_PAUSES), LONGEST_PAUSE_MS);
  return {
    attempts,
    firstPauseMs: durationMs(FIRST_PAUSE_MS),
    longestPauseMs: durationMs(Math.max(FIRST_PAUSE_MS, longestMs)),
    giveUpAfterMs: durationMs(giveUpAfterMs),
  };
}

/** What a shard promises when it accepts a request. `made`: how many attempts the record has had before. */
export function acceptanceWith(schedule: Schedule, made: number, now: EpochMs): Acceptance {
  const giveUpAt = timeAfter(now, schedule.giveUpAfterMs);
  return { schedule, acceptedAt: now, giveUpAt, lastAttempt: made + schedule.attempts };
}

/** The same promise for a request that an operator has released: as if it had been accepted now. */
export function acceptedAnew(promise: Acceptance, made: number, now: EpochMs): Acceptance {
  const { giveUpAt, lastAttempt } = acceptanceWith(promise.schedule, made, now);
  return { ...promise, giveUpAt, lastAttempt };
}

/** What is stored of a message whose outcome is unknown: no attempt is promised until an operator releases it. */
export function parkedAcceptance(
  schedule: Schedule,
  made: number,
  message: ParkedMessage | undefined,
  now: EpochMs,
): Acceptance {
  const promise = { schedule, acceptedAt: now, giveUpAt: now, lastAttempt: made, isParked: true } as const;
  return message === undefined ? promise : { ...promise, message };
}

/** The pause after the attempt that was the `tried`th of its promise: 1 for the first. */
export function pauseAfterTry(
  { firstPauseMs, longestPauseMs }: Schedule,
  tried: number,
  { jitter, retryAfterMs }: PauseAdvice = NO_ADVICE,
): DurationMs {
  // The exponent is bounded, because a power beyond all numbers would be Infinity.
  const doubled = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(tried - 1, 40)) * (0.5 + jitter / 2);
  // An origin that asks for more than the longest pause is asked before, so that it cannot end the promise.
  return durationMs(Math.round(Math.max(doubled, Math.min(retryAfterMs ?? 0, longestPauseMs))));
}

/**
 * When the next attempt begins after one that had no effect, or may be repeated: not before `from`. `null`: the promise is used up,
 * and the request is given up.
 */
export function nextStart(
  { schedule, giveUpAt, lastAttempt }: Acceptance,
  { number }: Attempt,
  from: EpochMs,
  now: EpochMs,
  advice?: PauseAdvice,
): EpochMs | null {
  if (number >= lastAttempt) return null;
  const startAt = latestTime(
    from,
    timeAfter(now, pauseAfterTry(schedule, number - (lastAttempt - schedule.attempts), advice)),
  );
  return startAt > giveUpAt ? null : startAt;
}

/**
 * When a request that could not be read is looked at again: after as long as it has been accepted, so that the pauses double. `null`:
 * the promise is used up.
 */
export function nextLook({ schedule, acceptedAt, giveUpAt }: Acceptance, now: EpochMs): EpochMs | null {
  const { firstPauseMs, longestPauseMs } = schedule;
  const startAt = timeAfter(now, durationMs(Math.min(longestPauseMs, Math.max(firstPauseMs, now - acceptedAt))));
  return startAt > giveUpAt ? null : startAt;
}

/**
 * A start that is further away than the longest pause was set by a clock that was ahead: it is due now. Not before the lock of the last
 * attempt has ended: a lock that looks too long may be right, and the present clock behind.
 */
export function broughtBack(record: Waiting, now: EpochMs): Waiting {
  const { attempt, startAt, accepted: promise } = record;
  const at = attempt.lockedUntil > now ? startAt : dueAt(startAt, promise.schedule.longestPauseMs, now);
  return at === startAt ? record : { ...record, startAt: at };
}

/**
 * Whether the limit passed while the request waited for its turn, longer than planned. The first attempt of a promise is always made,
 * and a message is never given up.
 */
export function isTooLate({ attempt, accepted: promise }: Waiting, now: EpochMs): boolean {
  const { schedule, giveUpAt, lastAttempt, isParked = false } = promise;
  return !isParked && now > giveUpAt && attempt.number > lastAttempt - schedule.attempts;
}
