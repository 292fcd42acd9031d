// The records with which the benchmarks fill a ledger: completed, under one route's times.

import { hash, randomUUID } from "node:crypto";
import type { Completed } from "../../../../src/kernel/record/record.ts";
import {
  attemptId,
  type DurationMs,
  durationMs,
  type EpochMs,
  epochMs,
  fingerprint,
} from "../../../../src/kernel/record/units.ts";

/** A record that expires then, with a fingerprint of its number. */
export function completedRecord(number: number, expiresAt: EpochMs, retentionMs: DurationMs): Completed {
  const completedAt = epochMs(expiresAt - retentionMs);
  return {
    state: "completed",
    fingerprint: fingerprint(hash("sha256", `print-${number}`)),
    attempt: {
      id: attemptId(randomUUID()),
      number: 1,
      startedAt: completedAt,
      lockedUntil: completedAt,
      mayHaveActed: false,
    },
    policy: { unknown: "hold", lockMs: durationMs(40_000), retentionMs, unknownRetentionMs: retentionMs },
    status: 201,
    kept: true,
    completedAt,
    expiresAt,
  };
}
