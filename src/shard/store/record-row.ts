// A record's row as it is read.

import type { Publication } from "../../core/outbox.ts";
import type { IdempotencyRecord, Policy } from "../../core/record.ts";
import type { TimelineEvent } from "../../core/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../core/units.ts";
import { PLACE_COLUMNS, type PlaceRow } from "./record-numbers.ts";
import { FOUND_RESPONSE_COLUMNS, KEPT, type ResponseRow } from "./response-rows.ts";
import { readDriven } from "./stored-request.ts";

/** The columns that `readRecord` reads. */
export const RECORD_COLUMNS = `${PLACE_COLUMNS}, id, state, fingerprint, attempt_id, attempt, started_at, locked_until, unknown, lock_ms, retention_ms, unknown_retention_ms, retry_from, completed_at, expires_at, status, kept, verify_at, verifications, remember_ms, may_have_acted, driven, start_at, publish, history`;
/** Also the columns that `readResponse` reads: one statement, since most records that are found are replayed. */
export const FOUND_COLUMNS = `${RECORD_COLUMNS}, ${FOUND_RESPONSE_COLUMNS}`;

/** A row of `records`, without the response. */
export interface RecordRow extends PlaceRow {
  readonly id: string;
  readonly state: string;
  readonly fingerprint: string;
  readonly attempt_id: string;
  readonly attempt: number;
  readonly started_at: number;
  readonly locked_until: number;
  readonly unknown: string;
  readonly lock_ms: number;
  readonly retention_ms: number;
  readonly unknown_retention_ms: number;
  readonly retry_from: number | null;
  readonly completed_at: number | null;
  readonly expires_at: number | null;
  readonly status: number | null;
  readonly kept: number | null;
  readonly verify_at: number | null;
  readonly verifications: number | null;
  readonly remember_ms: number | null;
  readonly may_have_acted: number | null;
  readonly driven: string | null;
  readonly start_at: number | null;
  readonly publish: string | null;
  readonly history: string | null;
}

/** A row of `records` with the response. */
export type FoundRow = RecordRow & ResponseRow;

/** Reads what this deployment or an earlier one wrote. */
export function readHistory(text: string | null): readonly TimelineEvent[] {
  return text === null ? [] : JSON.parse(text);
}

function readPublish(text: string): readonly Publication[] {
  return JSON.parse(text);
}

function readUnknown(text: string): Policy["unknown"] {
  switch (text) {
    case "retry":
    case "hold":
    case "verify":
      return text;
    default:
      // Fail closed: see `readRecord`.
      throw new TypeError(`the ledger holds a record with an unknown policy: ${text}`);
  }
}

export function readRecord(row: RecordRow): IdempotencyRecord {
  const driven = readDriven(row.driven);
  const policy: Policy = {
    unknown: readUnknown(row.unknown),
    lockMs: durationMs(row.lock_ms),
    retentionMs: durationMs(row.retention_ms),
    unknownRetentionMs: durationMs(row.unknown_retention_ms),
    ...(row.remember_ms === null ? {} : { rememberMs: durationMs(row.remember_ms) }),
    ...(driven === null ? {} : { drive: driven.drive }),
    ...(row.publish === null ? {} : { publish: readPublish(row.publish) }),
  };
  const promise = driven === null ? {} : { driven };
  const common = {
    fingerprint: fingerprint(row.fingerprint),
    attempt: {
      id: attemptId(row.attempt_id),
      number: row.attempt,
      startedAt: epochMs(row.started_at),
      lockedUntil: epochMs(row.locked_until),
      mayHaveActed: row.may_have_acted === 1,
    },
    policy,
  };
  const expiresAt = epochMs(row.expires_at ?? 0);
  switch (row.state) {
    case "started":
      return { state: "started", ...common, ...promise };
    case "waiting":
      if (driven === null) throw new TypeError("the ledger holds a waiting record without its promise");
      return { state: "waiting", ...common, driven, startAt: epochMs(row.start_at ?? 0) };
    case "failed":
      return { state: "failed", ...common, retryFrom: epochMs(row.retry_from ?? 0), expiresAt };
    case "unknown":
      return {
        state: "unknown",
        ...common,
        expiresAt,
        verifyAt: row.verify_at === null ? null : epochMs(row.verify_at),
        verifications: row.verifications ?? 0,
        ...promise,
      };
    case "completed": {
      const { status, kept, completed_at } = row;
      if (kept === null) return { state: "remembered", ...common, status, expiresAt };
      return {
        state: "completed",
        ...common,
        status,
        kept: kept === KEPT.open || kept === KEPT.encrypted,
        completedAt: epochMs(completed_at ?? 0),
        expiresAt,
      };
    }
    default:
      // Fail closed: a record that cannot be read must never count as absent.
      throw new TypeError(`the ledger holds a record in an unknown state: ${row.state}`);
  }
}
