import { expect, it } from "vitest";
import { recordFault } from "../../../src/core/record-fault.ts";
import type { IdempotencyRecord } from "../../../src/core/record.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../../src/core/units.ts";

const MS = durationMs(1);
const AT = epochMs(1);
const DRIVE = { attempts: 1, firstPauseMs: durationMs(0), longestPauseMs: durationMs(0), giveUpAfterMs: durationMs(0) };
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
    driven: { drive: DRIVE, acceptedAt: AT, giveUpAt: AT, lastAttempt: 0 },
  },
  { ...base, state: "failed", retryFrom: AT, expiresAt: AT },
  { ...base, state: "unknown", verifyAt: AT, verifications: 0, expiresAt: AT },
  { ...late, state: "completed", status: 100, kept: false, completedAt: AT, expiresAt: AT },
  { ...late, state: "remembered", status: 100, expiresAt: AT },
];

/** Copies of a record in which one of its numbers is one less. */
function lowered(value: unknown): readonly unknown[] {
  if (typeof value === "number") return [value - 1];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => lowered(one).map((other) => ({ ...value, [name]: other })));
}

it.each(LEAST.map((record) => [record.state, record] as const))(
  "believes the least numbers of a record that is %s, and none below them",
  (_, record) => {
    expect(recordFault(record)).toBeNull();
    for (const other of lowered(record) as readonly IdempotencyRecord[])
      expect([other, recordFault(other)]).toEqual([other, expect.stringMatching(/^its .* is not what it must be$/)]);
  },
);
