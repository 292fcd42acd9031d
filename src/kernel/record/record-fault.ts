// What a record must be in order to be believed. The store checks it before it writes a record and after it has read one: types promise the
// same, but a row holds whatever some code has once written, and a time that is missing would read as 1970 and let an operation run again.

import { type Acceptance, type IdempotencyRecord, isClosed, promiseIn, UNKNOWN_RULES } from "./record.ts";

/** What is wrong with a record; `null`: nothing. Names the member, never its value. */
export function recordFault(record: IdempotencyRecord): string | null {
  const accepted = promiseIn(record);
  return baseFault(record) ?? stateFault(record) ?? (accepted === null ? null : acceptanceFault(accepted));
}

function baseFault({ state, fingerprint, attempt, policy }: IdempotencyRecord): string | null {
  const { id, number, startedAt, lockedUntil, mayHaveActed } = attempt;
  const { unknown, lockMs, retentionMs, unknownRetentionMs, rememberMs } = policy;
  // An accepted request that has not been tried has attempt 0, whatever becomes of it.
  const first = state === "started" ? 1 : 0;
  // Of a record that has had its end, it only keeps an operator from forgetting it.
  const isLock = isClosed(state) ? isWhole(lockedUntil, 0) : isTime(lockedUntil);
  return firstOf([
    [isText(fingerprint), "fingerprint"],
    [isText(id), "attempt's id"],
    [isWhole(number, first), "attempt's number"],
    [isWhole(startedAt, 0), "attempt's start"],
    [isLock, "lock"],
    [typeof mayHaveActed === "boolean", "whether it may have acted"],
    [UNKNOWN_RULES.includes(unknown), "rule for unknown outcomes"],
    [isWhole(lockMs, 1), "lock's length"],
    [isWhole(retentionMs, 1), "retention"],
    [isWhole(unknownRetentionMs, 1), "retention of unknown outcomes"],
    [rememberMs === undefined || isWhole(rememberMs, 1), "time that its key is remembered"],
  ]);
}

function stateFault(record: IdempotencyRecord): string | null {
  switch (record.state) {
    case "started":
      return null;
    case "waiting":
      return firstOf([[isTime(record.startAt), "next attempt's start"]]);
    case "failed":
      return firstOf([
        [isTime(record.retryFrom), "time from which it may be tried again"],
        [isTime(record.expiresAt), "expiry"],
      ]);
    case "unknown":
      return firstOf([
        [record.verifyAt === null || isTime(record.verifyAt), "next verification"],
        [isWhole(record.verifications, 0), "count of verifications"],
        [isTime(record.expiresAt), "expiry"],
      ]);
    case "completed":
      return firstOf([
        [record.status === null || isStatus(record.status), "status"],
        [typeof record.kept === "boolean", "whether its response is kept"],
        [isTime(record.completedAt), "completion"],
        [isTime(record.expiresAt), "expiry"],
      ]);
    case "remembered":
      return firstOf([
        [record.status === null || isStatus(record.status), "status"],
        [isTime(record.expiresAt), "expiry"],
      ]);
  }
}

function acceptanceFault({ schedule, acceptedAt, giveUpAt, lastAttempt }: Acceptance): string | null {
  return firstOf([
    [isWhole(schedule.attempts, 1), "promised attempts"],
    [isWhole(schedule.firstPauseMs, 0) && isWhole(schedule.longestPauseMs, 0), "pauses"],
    [isWhole(schedule.giveUpAfterMs, 0), "limit"],
    [isTime(acceptedAt) && isTime(giveUpAt), "time of acceptance"],
    [isWhole(lastAttempt, 0), "last attempt"],
  ]);
}

function firstOf(checks: readonly (readonly [isRight: boolean, what: string])[]): string | null {
  // Not taken apart: that would make an iterator for each check of each write.
  const wrong = checks.find((check) => !check[0]);
  return wrong === undefined ? null : `its ${wrong[1]} is not what it must be`;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** Whether it is a point in time after 1970, in whole milliseconds. */
export function isTime(value: unknown): value is number {
  return isWhole(value, 1);
}

export function isWhole(value: unknown, least: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}

/**
 * A line of the form in which the origin got a record's key (kernel/request/origin-key.ts): the header, whether its value is quoted, and what follows
 * the key. A line that is written otherwise would give the origin no key.
 */
export const KEY_FORM_LINE = /^([^:\s]+): ("?)\{key\}(.*)$/;

function isStatus(value: unknown): boolean {
  return isWhole(value, 100);
}
