import { expect, it } from "vitest";
import { recordFault } from "../../../../src/kernel/record/record-fault.ts";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../../../src/kernel/record/units.ts";

const MS = durationMs(1);
const AT = epochMs(1);
const SCHEDULE = {
  attempts: 1,
  firstPauseMs: durationMs(0),
  longestPauseMs: durationMs(0),
  giveUpAfterMs: durationMs(0),
};
const base = {
  fingerprint: fingerprint("f"),
  attempt: { id: attemptId("a"), number: 0, startedAt: epochMs(0), lockedUntil: AT, mayHaveActed: false },
  policy: { unknown: "hold", lockMs: MS, retentionMs: MS, unknownRetentionMs: MS, rememberMs: MS },
} as const;
const late = { ...base, attempt: { ...base.attempt, lockedUntil: epochMs(0) } };

/** Each number is the least that is believed. */
const LEAST: readonly IdempotencyRecord[] = [
  { ...base, state: "started", attempt: { ...base.attempt, number: 1 } },
  {
    ...base,
    state: "waiting",
    startAt: AT,
    accepted: { schedule: SCHEDULE, acceptedAt: AT, giveUpAt: AT, lastAttempt: 0 },
  },
  { ...base, state: "failed", retryFrom: AT, expiresAt: AT },
  { ...base, state: "unknown", verifyAt: AT, verifications: 0, expiresAt: AT },
  { ...late, state: "completed", status: 100, kept: false, completedAt: AT, expiresAt: AT },
  { ...late, state: "remembered", status: 100, expiresAt: AT },
];

/** The texts of records in each of which one of the numbers is one less. */
function lowered(record: IdempotencyRecord): readonly string[] {
  const text = JSON.stringify(record);
  return [...text.matchAll(/:(\d+)/g)].map(
    ({ 0: found, 1: number, index }) =>
      `${text.slice(0, index)}:${Number(number) - 1}${text.slice(index + found.length)}`,
  );
}

it.each(LEAST.map((record) => [record.state, record] as const))(
  "believes the least numbers of a record that is %s, and none below them",
  (_, record) => {
    expect(recordFault(record)).toBeNull();
    for (const text of lowered(record))
      expect([text, recordFault(JSON.parse(text))]).toEqual([text, expect.stringMatching(/^its .* is not what it/)]);
  },
);
