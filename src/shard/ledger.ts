// The ledger: the records of one shard and their responses, in SQLite. It stores and finds; it decides nothing, and it
// knows no HTTP: headers are pairs of text to it, bodies are bytes. Every method runs within one synchronous turn, so
// that what is read, decided and written in a turn is one atomic commit (Durable Objects documentation, "write coalescing").

import type { Completed, IdempotencyRecord } from "../core/record.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../core/units.ts";
import { Bodies, CHUNK_BYTES } from "./bodies.ts";
import { migrate, type Sql } from "./migrations.ts";
import { INSERT, readRecord, RECORD_COLUMNS, type RecordRow, UPDATE, writeRecord } from "./record-rows.ts";

export interface StoredResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** A record, and where it lies. */
export interface Entry {
  readonly record: IdempotencyRecord;
  readonly bucket: number;
}

/** The bucket of records with an attempt in flight. */
const IN_FLIGHT = 0;

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
}

/** What the ledger needs of an object's storage. */
export interface LedgerStorage {
  readonly sql: Sql;
  transactionSync<T>(run: () => T): T;
}

export class Ledger {
  readonly #storage: LedgerStorage;
  readonly #sql: Sql;
  readonly #bodies: Bodies;
  /** The buckets that may hold a record, in flight first; a handful, kept so that a look-up need not ask. */
  readonly #buckets: Set<number>;

  constructor(storage: LedgerStorage) {
    const { sql } = storage;
    this.#storage = storage;
    this.#sql = sql;
    this.#bodies = new Bodies(sql);
    // A statement that fails undoes itself alone; only a transaction undoes those before it.
    storage.transactionSync(() => migrate(sql));
    this.#buckets = new Set([IN_FLIGHT, ...listBuckets(sql)]);
  }

  find(id: RecordId): Entry | null {
    // The buckets stand in the text, not among its parameters: the platform takes 100 of those, and routes with many
    // different retentions can have more buckets.
    const query = `SELECT ${RECORD_COLUMNS} FROM records WHERE id = ? AND bucket IN (${[...this.#buckets].join()})`;
    const [row] = this.#sql.exec<RecordRow>(query, id).toArray();
    return row === undefined ? null : { record: readRecord(row), bucket: row.bucket };
  }

  /** Puts `record` in the place of `entry`; either may be absent. A response belongs to a completed record that keeps one. */
  save(
    id: RecordId,
    entry: Entry | null,
    record: IdempotencyRecord | null,
    response: StoredResponse | null = null,
  ): void {
    const chunked = response !== null && !fitsRow(response.body);
    const hadChunks = entry?.record.state === "completed";
    // One statement is all or nothing by itself.
    if (!chunked && !hadChunks) {
      this.#write(id, entry, record, response);
      return;
    }
    this.#storage.transactionSync(() => {
      if (hadChunks) this.#bodies.delete(entry.bucket, id);
      this.#write(id, entry, record, response);
      if (chunked && record !== null) this.#bodies.save(bucketOf(record), id, response.body);
    });
  }

  #write(id: RecordId, entry: Entry | null, record: IdempotencyRecord | null, response: StoredResponse | null): void {
    if (record === null) {
      if (entry !== null) this.#sql.exec("DELETE FROM records WHERE bucket = ? AND id = ?", entry.bucket, id);
      return;
    }
    const bucket = bucketOf(record);
    this.#buckets.add(bucket);
    const values = [bucket, ...writeRecord(record), ...writeResponse(response)];
    if (entry === null) this.#sql.exec(INSERT, id, ...values);
    else this.#sql.exec(UPDATE, ...values, entry.bucket, id);
  }

  /** The response that a completed record keeps. */
  response(id: RecordId, bucket: number, { status }: Completed): StoredResponse {
    const { status_text, headers, body } = this.#sql
      .exec<ResponseRow>("SELECT status_text, headers, body FROM records WHERE bucket = ? AND id = ?", bucket, id)
      .one();
    const pairs: StoredResponse["headers"] = JSON.parse(headers);
    const bytes = body === null ? this.#bodies.load(bucket, id) : new Uint8Array(body);
    return { status, statusText: status_text, headers: pairs, body: bytes };
  }

  /** The records with an attempt in flight, or one that was lost. As many as there are attempts, not as there are records. */
  inFlight(): readonly { readonly id: RecordId; readonly entry: Entry }[] {
    return this.#sql
      .exec<RecordRow>(`SELECT ${RECORD_COLUMNS} FROM records WHERE bucket = ?`, IN_FLIGHT)
      .toArray()
      .map((row) => ({ id: recordId(row.id), entry: { record: readRecord(row), bucket: IN_FLIGHT } }));
  }

  /** Erases some of what lies in expired buckets: chunks first, then at most `limit` records; tells how many of these. */
  erase(now: EpochMs, limit: number): number {
    if (this.#bodies.erase(now)) return 0;
    const { rowsWritten } = this.#sql.exec(
      "DELETE FROM records WHERE (bucket, id) IN (SELECT bucket, id FROM records WHERE bucket > 0 AND bucket <= ? LIMIT ?)",
      now,
      limit,
    );
    if (rowsWritten < limit) {
      for (const bucket of this.#buckets) if (bucket !== IN_FLIGHT && bucket <= now) this.#buckets.delete(bucket);
    }
    return rowsWritten;
  }

  /** When the next lock ends or the next bucket expires; `null` when there is neither. */
  nextDeadline(): EpochMs | null {
    const { lock, bucket } = this.#sql
      .exec<{ lock: number | null; bucket: number | null }>(
        "SELECT (SELECT min(locked_until) FROM records WHERE bucket = ?1) AS lock, (SELECT min(bucket) FROM records WHERE bucket > ?1) AS bucket",
        IN_FLIGHT,
      )
      .one();
    const deadlines = [lock, bucket].filter((value) => value !== null);
    return deadlines.length === 0 ? null : epochMs(Math.min(...deadlines));
  }
}

/** The end of the bucket in which a record expires. Longer retentions have wider buckets, so their number is bounded. */
function bucketOf(record: IdempotencyRecord): number {
  if (record.state === "started") return IN_FLIGHT;
  const widthMs = Math.max(1, Math.floor(record.policy.retentionMs / BUCKETS_PER_RETENTION));
  return Math.ceil(record.expiresAt / widthMs) * widthMs;
}

/** Walks from each bucket to the next by the key: as many seeks as there are buckets. */
function listBuckets(sql: Sql): readonly number[] {
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
  if (response === null) return [null, null, null];
  const { statusText, headers, body } = response;
  return [statusText, JSON.stringify(headers), fitsRow(body) ? exactBuffer(body) : null];
}

function fitsRow(body: Uint8Array): boolean {
  return body.byteLength <= CHUNK_BYTES;
}

/** SQLite takes whole buffers; a view on a part of one is copied. */
function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
