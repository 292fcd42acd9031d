// How a record stands in a row of the ledger, and comes back from it.

import type { IdempotencyRecord, Policy } from "../core/record.ts";
import type { Happening } from "../core/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../core/units.ts";

/** What `readRecord` and `readResponse` read: one statement, since what is found is mostly to be replayed. */
export const RECORD_COLUMNS =
  "bucket, id, state, fingerprint, attempt_id, attempt, started_at, locked_until, unknown, lock_ms, retention_ms, retry_from, completed_at, expires_at, status, kept, verify_at, verifications, history, status_text, headers, body, body_bytes, chunks";

/** A row of `records`. */
export interface RecordRow extends Record<string, SqlStorageValue> {
  readonly bucket: number;
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
  readonly retry_from: number | null;
  readonly completed_at: number | null;
  readonly expires_at: number | null;
  readonly status: number | null;
  readonly kept: number | null;
  readonly verify_at: number | null;
  readonly verifications: number | null;
  readonly history: string | null;
  readonly status_text: string | null;
  readonly headers: string | null;
  /** `null`: in chunks, or in the bucket. */
  readonly body: ArrayBuffer | null;
  readonly body_bytes: number | null;
  readonly chunks: number | null;
}

/** What a record is called by people. */
export interface Label {
  /** The idempotency key. */
  readonly key: string;
  /** The path of the route, as configured. */
  readonly route: string;
}

const WRITTEN_COLUMNS = [
  "bucket",
  "state",
  "fingerprint",
  "attempt_id",
  "attempt",
  "started_at",
  "locked_until",
  "unknown",
  "lock_ms",
  "retention_ms",
  "retry_from",
  "completed_at",
  "expires_at",
  "status",
  "kept",
  "verify_at",
  "verifications",
  "status_text",
  "headers",
  "body",
  "body_bytes",
  "chunks",
  "verification",
  "history",
];
/** Takes the id, the label's key and route, then `bucket`, what `writeRecord` gives, the response, the verification and the history. */
export const INSERT = `INSERT INTO records (id, key, route, ${WRITTEN_COLUMNS.join(", ")}) VALUES (?, ?, ?, ${WRITTEN_COLUMNS.map(() => "?").join(", ")})`;
/** Takes what INSERT does but for the id and the label, then the bucket and the id of the row to replace. */
export const UPDATE = `UPDATE records SET ${WRITTEN_COLUMNS.map((column) => `${column} = ?`).join(", ")} WHERE bucket = ? AND id = ?`;

export function writeRecord(record: IdempotencyRecord): readonly SqlStorageValue[] {
  const { state, attempt, policy } = record;
  return [
    state,
    record.fingerprint,
    attempt.id,
    attempt.number,
    attempt.startedAt,
    attempt.lockedUntil,
    policy.unknown,
    policy.lockMs,
    policy.retentionMs,
    state === "failed" ? record.retryFrom : null,
    state === "completed" ? record.completedAt : null,
    state === "started" ? null : record.expiresAt,
    state === "completed" ? record.status : null,
    state === "completed" ? Number(record.kept) : null,
    state === "unknown" ? record.verifyAt : null,
    state === "unknown" ? record.verifications : null,
  ];
}

export function writeHistory(history: readonly Happening[]): string | null {
  return history.length === 0 ? null : JSON.stringify(history);
}

/** As `writeHistory` wrote it, in this deployment or one before. */
export function readHistory(text: string | null): readonly Happening[] {
  return text === null ? [] : JSON.parse(text);
}

function readUnknown(text: string): Policy["unknown"] {
  switch (text) {
    case "retry":
    case "hold":
    case "verify":
      return text;
    default:
      // Fail closed, as below.
      throw new TypeError(`the ledger holds a record with an unknown policy: ${text}`);
  }
}

export function readRecord(row: RecordRow): IdempotencyRecord {
  const policy: Policy = {
    unknown: readUnknown(row.unknown),
    lockMs: durationMs(row.lock_ms),
    retentionMs: durationMs(row.retention_ms),
  };
  const remembered = {
    fingerprint: fingerprint(row.fingerprint),
    attempt: {
      id: attemptId(row.attempt_id),
      number: row.attempt,
      startedAt: epochMs(row.started_at),
      lockedUntil: epochMs(row.locked_until),
    },
    policy,
  };
  const expiresAt = epochMs(row.expires_at ?? 0);
  switch (row.state) {
    case "started":
      return { state: "started", ...remembered };
    case "failed":
      return { state: "failed", ...remembered, retryFrom: epochMs(row.retry_from ?? 0), expiresAt };
    case "unknown":
      return {
        state: "unknown",
        ...remembered,
        expiresAt,
        verifyAt: row.verify_at === null ? null : epochMs(row.verify_at),
        verifications: row.verifications ?? 0,
      };
    case "completed": {
      const { status, kept, completed_at } = row;
      return {
        state: "completed",
        ...remembered,
        status: status ?? 0,
        kept: kept === 1,
        completedAt: epochMs(completed_at ?? 0),
        expiresAt,
      };
    }
    default:
      // Fail closed: a record that cannot be read is never taken for none.
      throw new TypeError(`the ledger holds a record in an unknown state: ${row.state}`);
  }
}
