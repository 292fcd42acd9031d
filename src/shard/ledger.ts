// The ledger: the records of one shard and their responses, in SQLite. It stores and finds; it decides nothing, and it
// knows no HTTP: headers are pairs of text to it, bodies are bytes. Every method runs within one synchronous turn, so
// that what is read, decided and written in a turn is one atomic commit (Durable Objects documentation, "write coalescing").

import type { Completed, IdempotencyRecord } from "../core/record.ts";
import type { Happening } from "../core/timeline.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../core/units.ts";
import { Addresses } from "./addresses.ts";
import { Bodies, exactBuffer, type Wake } from "./bodies.ts";
import { RemoteBodies } from "./remote-bodies.ts";
import { migrate, type Sql } from "./migrations.ts";
import {
  INSERT,
  type Label,
  readHistory,
  readRecord,
  RECORD_COLUMNS,
  type RecordRow,
  UPDATE,
  writeHistory,
  writeRecord,
} from "./record-rows.ts";

export interface StoredResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: StoredBody;
}

/** A body in its record's row, in chunks, or in the bucket; of the latter two all is already written. */
export type StoredBody =
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  | { readonly kind: "chunks"; readonly name: string; readonly count: number; readonly size: number }
  | { readonly kind: "remote"; readonly name: string; readonly size: number };

/** A record, where it lies, and what has happened to it that it does not say itself. */
export interface Entry {
  readonly record: IdempotencyRecord;
  readonly bucket: number;
  readonly history: readonly Happening[];
}

/** What is saved with a record. */
export interface Attachments {
  /** Belongs to a completed record that keeps one. */
  readonly response?: StoredResponse | null;
  /** How to ask the origin whether an attempt took effect: comes with its claim, and goes when it is settled. */
  readonly verification?: string | null;
  /** Of the past; absent: what the record had. */
  readonly history?: readonly Happening[];
  /** For a record that was not there before. */
  readonly label?: Label;
}

const UNLABELLED: Label = { key: "", route: "" };

/** The bucket of records that the alarm has to do something about: an attempt in flight, or the origin to be asked. */
export const IN_FLIGHT = 0;

/**
 * Buckets per retention: a record is erased at most an eighth of its retention after it has expired (it is not *found*
 * from the millisecond on), and a look-up costs one seek for each of the nine buckets that can be alive.
 */
const BUCKETS_PER_RETENTION = 8;

interface ResponseRow extends Record<string, SqlStorageValue> {
  readonly status_text: string;
  readonly headers: string;
  /** `null`: in chunks. */
  readonly body: ArrayBuffer | null;
  readonly body_bytes: number;
  readonly chunks: number;
}

/** What people want to know of a record, besides its state. */
export interface Description {
  readonly label: Label;
  readonly response: (Pick<StoredResponse, "statusText" | "headers"> & { readonly sizeBytes: number }) | null;
}

/** What the ledger needs of an object's storage. */
export interface LedgerStorage {
  readonly sql: Sql;
  transactionSync<T>(run: () => T): T;
}

export class Ledger {
  readonly #sql: Sql;
  readonly bodies: Bodies;
  readonly remote: RemoteBodies;
  readonly addresses: Addresses;
  /** The buckets that may hold a record, in flight first; a handful, kept so that a look-up need not ask. */
  readonly #buckets: Set<number>;
  /** What this instance has written of those in flight, since each is asked for once more when its attempt ends. */
  readonly #inFlight = new Map<RecordId, Entry>();

  constructor(storage: LedgerStorage, bucket: R2Bucket | null = null, wake: Wake = () => undefined) {
    const { sql } = storage;
    this.#sql = sql;
    this.bodies = new Bodies(sql, wake);
    this.remote = new RemoteBodies(sql, bucket, wake);
    this.addresses = new Addresses(sql);
    // A statement that fails undoes itself alone; only a transaction undoes those before it.
    storage.transactionSync(() => migrate(sql));
    this.#buckets = new Set([IN_FLIGHT, ...listBuckets(sql)]);
  }

  find(id: RecordId): Entry | null {
    const known = this.#inFlight.get(id);
    if (known !== undefined) return known;
    // The buckets stand in the text, not among its parameters: the platform takes 100 of those, and routes with many
    // different retentions can have more buckets.
    const query = `SELECT ${RECORD_COLUMNS} FROM records WHERE id = ? AND bucket IN (${[...this.#buckets].join()})`;
    const [row] = this.#sql.exec<RecordRow>(query, id).toArray();
    return row === undefined ? null : entryOf(row);
  }

  /** Puts `record` in the place of `entry`; either may be absent. Chunks that belong to no record from now on are discarded. */
  save(
    id: RecordId,
    entry: Entry | null,
    record: IdempotencyRecord | null,
    { response = null, verification = null, history = entry?.history ?? [], label = UNLABELLED }: Attachments = {},
  ): void {
    if (entry !== null && !needsBody(entry.record, record)) this.#discard(entry.record.attempt.id);
    if (record === null) {
      if (entry !== null) this.#sql.exec("DELETE FROM records WHERE bucket = ? AND id = ?", entry.bucket, id);
      this.#inFlight.delete(id);
      return;
    }
    const bucket = bucketOf(record);
    this.#buckets.add(bucket);
    const asks = record.policy.unknown === "verify" && (record.state === "started" || record.state === "unknown");
    const asked = asks ? (verification ?? this.verification(id, entry)) : null;
    const values = [bucket, ...writeRecord(record), ...writeResponse(response), asked, writeHistory(history)];
    if (entry === null) this.#sql.exec(INSERT, id, label.key, label.route, ...values);
    else this.#sql.exec(UPDATE, ...values, entry.bucket, id);
    if (bucket === IN_FLIGHT) this.#inFlight.set(id, { record, bucket, history });
    else this.#inFlight.delete(id);
  }

  /** The response that a completed record keeps. */
  response(id: RecordId, bucket: number, { status, attempt }: Completed): StoredResponse {
    const { status_text, headers, body, body_bytes, chunks } = this.#sql
      .exec<ResponseRow>(
        "SELECT status_text, headers, body, body_bytes, chunks FROM records WHERE bucket = ? AND id = ?",
        bucket,
        id,
      )
      .one();
    const pairs = readHeaders(headers);
    const name = attempt.id;
    const apart: StoredBody =
      chunks > 0
        ? { kind: "chunks", name, count: chunks, size: body_bytes }
        : { kind: "remote", name, size: body_bytes };
    const stored: StoredBody = body === null ? apart : { kind: "inline", bytes: new Uint8Array(body) };
    return { status, statusText: status_text, headers: pairs, body: stored };
  }

  /** What a record is called, and its response but for the status and the bytes; that is `null` when none is kept. */
  describe(id: RecordId, bucket: number): Description {
    const row = this.#sql
      .exec<
        Pick<ResponseRow, "body_bytes"> & { key: string; route: string; status_text: string; headers: string | null }
      >("SELECT key, route, status_text, headers, body_bytes FROM records WHERE bucket = ? AND id = ?", bucket, id)
      .one();
    const { key, route, status_text: statusText, headers, body_bytes: sizeBytes } = row;
    const response = headers === null ? null : { statusText, headers: readHeaders(headers), sizeBytes };
    return { label: { key, route }, response };
  }

  /** How many records are failed, and unknown, besides those in `inFlight`. */
  countOpen(now: EpochMs): { readonly failed: number; readonly unknown: number } {
    const count = (state: "failed" | "unknown"): number =>
      this.#sql
        .exec<{ n: number }>(
          "SELECT count(*) AS n FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = ? AND bucket > ? AND expires_at > ?",
          state,
          IN_FLIGHT,
          now,
        )
        .one().n;
    return { failed: count("failed"), unknown: count("unknown") };
  }

  /** How to ask the origin whether the attempt of a record took effect; `null` where that is not known. */
  verification(id: RecordId, entry: Entry | null): string | null {
    const [row] = this.#sql
      .exec<{ verification: string | null }>(
        "SELECT verification FROM records WHERE bucket = ? AND id = ?",
        entry?.bucket ?? IN_FLIGHT,
        id,
      )
      .toArray();
    return row?.verification ?? null;
  }

  /** The records with an attempt in flight, or one that was lost. As many as there are attempts, not as there are records. */
  inFlight(): readonly { readonly id: RecordId; readonly entry: Entry }[] {
    return this.#sql
      .exec<RecordRow>(`SELECT ${RECORD_COLUMNS} FROM records WHERE bucket = ?`, IN_FLIGHT)
      .toArray()
      .map((row) => ({ id: recordId(row.id), entry: entryOf(row) }));
  }

  /** Erases at most `limit` records of expired buckets, and tells how many; their chunks are discarded. */
  erase(now: EpochMs, limit: number): number {
    const rows = this.#sql
      .exec<{ bucket: number; id: string; apart: string | null }>(
        "SELECT bucket, id, CASE WHEN kept = 1 AND body IS NULL THEN attempt_id END AS apart FROM records WHERE bucket > 0 AND bucket <= ? ORDER BY bucket, id LIMIT ?",
        now,
        limit,
      )
      .toArray();
    for (const { apart } of rows) if (apart !== null) this.#discard(apart);
    const last = rows.at(-1);
    // The rows were read in the order of the key, from its beginning: they are all up to the last one.
    if (last !== undefined) {
      this.#sql.exec("DELETE FROM records WHERE bucket > 0 AND (bucket, id) <= (?, ?)", last.bucket, last.id);
    }
    if (rows.length < limit) {
      for (const bucket of this.#buckets) if (bucket !== IN_FLIGHT && bucket <= now) this.#buckets.delete(bucket);
    }
    return rows.length;
  }

  #discard(body: string): void {
    this.bodies.discard(body);
    this.remote.discard(body);
  }

  /** When the next lock ends, the next bucket expires, or a discarded body can be erased; `null` when there is none. */
  nextDeadline(): EpochMs | null {
    const { lock, bucket } = this.#sql
      .exec<{ lock: number | null; bucket: number | null }>(
        "SELECT (SELECT min(CASE state WHEN 'started' THEN locked_until ELSE min(verify_at, expires_at) END) FROM records WHERE bucket = ?1) AS lock, (SELECT min(bucket) FROM records WHERE bucket > ?1) AS bucket",
        IN_FLIGHT,
      )
      .one();
    const deadlines = [lock, bucket, this.bodies.eraseAt(), this.remote.eraseAt()].filter((value) => value !== null);
    return deadlines.length === 0 ? null : epochMs(Math.min(...deadlines));
  }
}

/** As `writeResponse` wrote them, in this deployment or one before. */
function readHeaders(text: string): StoredResponse["headers"] {
  return JSON.parse(text);
}

function entryOf(row: RecordRow): Entry {
  return { record: readRecord(row), bucket: row.bucket, history: readHistory(row.history) };
}

/** The end of the bucket in which a record expires. Longer retentions have wider buckets, so their number is bounded. */
function bucketOf(record: IdempotencyRecord): number {
  if (record.state === "started" || (record.state === "unknown" && record.verifyAt !== null)) return IN_FLIGHT;
  const widthMs = Math.max(1, Math.floor(record.policy.retentionMs / BUCKETS_PER_RETENTION));
  return Math.ceil(record.expiresAt / widthMs) * widthMs;
}

/** Walks from each bucket to the next by the key: as many seeks as there are buckets. */
export function listBuckets(sql: Sql): readonly number[] {
  return sql
    .exec<{ bucket: number }>(
      `WITH RECURSIVE found(bucket) AS (
         SELECT min(bucket) FROM records WHERE bucket > ?1
         UNION ALL SELECT (SELECT min(bucket) FROM records WHERE bucket > found.bucket) FROM found WHERE found.bucket IS NOT NULL
       ) SELECT bucket FROM found WHERE bucket IS NOT NULL`,
      IN_FLIGHT,
    )
    .toArray()
    .map(({ bucket }) => bucket);
}

function writeResponse(response: StoredResponse | null): readonly SqlStorageValue[] {
  if (response === null) return [null, null, null, null, null];
  const { statusText, headers, body } = response;
  const pairs = JSON.stringify(headers);
  switch (body.kind) {
    case "inline":
      return [statusText, pairs, exactBuffer(body.bytes), body.bytes.byteLength, 0];
    case "chunks":
      return [statusText, pairs, null, body.size, body.count];
    case "remote":
      return [statusText, pairs, null, body.size, 0];
  }
}

/** Whether the chunks of `before`, if it has any, still belong to `after`. */
function needsBody(before: IdempotencyRecord, after: IdempotencyRecord | null): boolean {
  if (after === null || after.attempt.id !== before.attempt.id) return false;
  return after.state === "started" || (after.state === "completed" && after.kept);
}
