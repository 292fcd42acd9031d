// The ledger: the records of one shard and their responses, in SQLite. It stores and finds records, and decides nothing. It knows
// no HTTP: headers are pairs of strings, bodies are bytes. Every method runs within one synchronous turn, so that all reads and
// writes of a turn are one atomic commit (Durable Objects documentation, "write coalescing").

import type { IdempotencyRecord, Started } from "../../core/record.ts";
import type { TimelineEvent } from "../../core/timeline.ts";
import { type EpochMs, type RecordId, epochMs, recordId } from "../../core/units.ts";
import { Bodies, type Wake } from "./bodies.ts";
import { LockEnds, WaitingQuestions } from "./due-records.ts";
import { ExpiryBuckets, IN_FLIGHT, expiryBucketOf } from "./expiry-buckets.ts";
import {
  FOUND_COLUMNS,
  type FoundRow,
  type Label,
  insertion,
  readHistory,
  readRecord,
  replacement,
} from "./record-rows.ts";
import { LookUps, SeenRecords } from "./look-ups.ts";
import { RemoteBodies } from "./remote-bodies.ts";
import { type FoundResponse, type RowBody, type StoredResponse, readResponse } from "./response-rows.ts";
import { type Sql, migrate } from "./schema.ts";
import { storeSql } from "./store-error.ts";

/** A record, its expiry bucket, and the part of its history that the record itself does not hold. */
export interface Entry {
  readonly record: IdempotencyRecord;
  readonly bucket: number;
  readonly history: readonly TimelineEvent[];
  /** The stored response of a completed record; `null` if none is kept. */
  readonly response: FoundResponse | null;
}

/** What is saved with a record. */
export interface Attachments {
  /** For a completed record that keeps its response. */
  readonly response?: StoredResponse | null;
  /** How to ask the origin whether an attempt took effect: stored with the claim, removed when the attempt is settled. */
  readonly verification?: string | null;
  /** The record's past events; if absent, the stored history stays. */
  readonly history?: readonly TimelineEvent[];
  /** Set when a request starts an attempt. */
  readonly label?: Label | null;
}

const UNLABELLED: Label = { key: "", route: "" };

/** The most body bytes erased in one turn: SQLite reads each page that it frees. */
const ERASE_BYTES = 2 << 20;
const GROWTH = 4;

interface ErasableRow extends Record<string, SqlStorageValue> {
  readonly bucket: number;
  readonly id: string;
  readonly name: string;
  /** 1: the body is stored outside the row. */
  readonly apart: number;
  /** Size of a body within the row; 0 for none. */
  readonly bytes: number;
}

/** What the ledger needs of an object's storage. */
export interface LedgerStorage {
  readonly sql: Sql;
  transactionSync<T>(run: () => T): T;
}

export class Ledger {
  readonly #sql: Sql;
  /** A failing statement undoes only itself; a transaction also undoes the statements before it. */
  readonly #transaction: (run: () => void) => void;
  readonly bodies: Bodies;
  readonly remote: RemoteBodies;
  readonly addresses: Addresses;
  readonly expiryBuckets: ExpiryBuckets;
  readonly lockEnds: LockEnds;
  readonly questions: WaitingQuestions;
  readonly #lookUps: LookUps;
  readonly #seen = new SeenRecords();
  /** Whether the last record that had not been seen was new: requests of one kind come one after the other. */
  #isNextNew = true;
  /** How many records the next slice reads: when records are large, no more than it will erase. */
  #eraseAtOnce = Number.POSITIVE_INFINITY;
  /** Records in flight that this instance has written: each is read once more when its attempt ends. */
  readonly #inFlight = new Map<RecordId, Entry>();

  constructor(storage: LedgerStorage, r2: R2Bucket | null = null, wake: Wake = () => undefined) {
    const sql = storeSql(storage.sql);
    this.#sql = sql;
    this.#transaction = (run) => storage.transactionSync(run);
    this.bodies = new Bodies(sql, wake);
    this.remote = new RemoteBodies(sql, r2, wake);
    this.addresses = new Addresses(sql);
    this.#transaction(() => migrate(sql));
    this.expiryBuckets = new ExpiryBuckets(sql);
    this.#lookUps = new LookUps(this.expiryBuckets);
    this.lockEnds = new LockEnds(sql);
    this.questions = new WaitingQuestions(sql);
  }

  find(id: RecordId): Entry | null {
    const known = this.#inFlight.get(id);
    if (known !== undefined) return known;
    for (const query of this.#lookUps.queries) {
      const [row] = this.#sql.exec<FoundRow>(query, id).toArray();
      if (row === undefined) continue;
      this.#seen.note(id);
      return entryOf(row);
    }
    this.#isNextNew = true;
    return null;
  }

  /**
   * Looks for the record and, if there is none, writes its claim, in one statement. Returns whether it was written. `false` may
   * also mean that this was not tried, because the record is probably there: it was written or found lately, or the last one was.
   */
  claim(id: RecordId, record: Started, { verification = null, label = null }: Attachments): boolean {
    const { claim } = this.#lookUps;
    if (claim === null || !this.#isNextNew || this.#seen.has(id)) return false;
    this.#seen.note(id);
    const asked = record.policy.unknown === "verify" ? verification : null;
    const row = { bucket: IN_FLIGHT, record, response: null, verification: asked, history: [], label };
    if (this.#sql.exec(claim, ...insertion(id, row).values).rowsWritten === 0) {
      this.#isNextNew = false;
      return false;
    }
    this.#inFlight.set(id, { record, bucket: IN_FLIGHT, history: [], response: null });
    this.lockEnds.note(id, record);
    return true;
  }

  /** Replaces `entry` by `record`; either may be `null`. Discards chunks that no longer belong to a record. */
  save(id: RecordId, entry: Entry | null, record: IdempotencyRecord | null, attachments: Attachments = {}): void {
    if (entry === null || needsBody(entry.record, record)) {
      this.#write(id, entry, record, attachments);
      return;
    }
    const { id: name } = entry.record.attempt;
    // A record whose change fails keeps its body. The write comes last, because it also changes what is in memory.
    this.#transaction(() => {
      this.#moveRead(entry.bucket, id, name);
      this.#discard(name);
      this.#write(id, entry, record, attachments);
    });
  }

  #write(
    id: RecordId,
    entry: Entry | null,
    record: IdempotencyRecord | null,
    { response = null, verification = null, history = entry?.history ?? [], label = null }: Attachments,
  ): void {
    if (record === null) {
      if (entry !== null) this.#sql.exec("DELETE FROM records WHERE bucket = ? AND id = ?", entry.bucket, id);
      this.#inFlight.delete(id);
      this.lockEnds.note(id, null);
      return;
    }
    const bucket = expiryBucketOf(record);
    this.expiryBuckets.add(bucket);
    const asks = record.policy.unknown === "verify" && (record.state === "started" || record.state === "unknown");
    const asked = asks ? (verification ?? this.verification(id, entry)) : null;
    const row = { bucket, record, response, verification: asked, history, label };
    const { query, values } = entry === null ? insertion(id, row) : replacement(id, entry.bucket, row);
    this.#sql.exec(query, ...values);
    if (bucket === IN_FLIGHT) this.#inFlight.set(id, { record, bucket, history, response: null });
    else this.#inFlight.delete(id);
    this.lockEnds.note(id, record);
  }

  /** At most `most` bytes of a body in its record's row, beginning at byte `from`; `null` when the body is gone. */
  readRow({ bucket, id, name }: RowBody, from: number, most: number): Uint8Array | null {
    const [row] = this.#sql
      .exec<{ bytes: ArrayBuffer | null }>(
        "SELECT substr(body, ? + 1, ?) AS bytes FROM records WHERE bucket = ? AND id = ? AND attempt_id = ?",
        from,
        most,
        bucket,
        id,
        name,
      )
      .toArray();
    const bytes = row?.bytes ?? null;
    return bytes === null ? this.bodies.readPart(name, 0, from, most) : new Uint8Array(bytes);
  }

  /** Keeps a body for its readers when its row goes: copies it to a chunk, which is erased when no reader holds it. */
  #moveRead(bucket: number, id: string, name: string): void {
    if (!this.bodies.isHeld(name)) return;
    this.#sql.exec(
      "INSERT OR IGNORE INTO chunks (body, number, bytes) SELECT attempt_id, 0, body FROM records WHERE bucket = ? AND id = ? AND attempt_id = ? AND body IS NOT NULL",
      bucket,
      id,
      name,
    );
  }

  /** The key and route of a record. */
  label(id: RecordId, bucket: number): Label {
    const [row] = this.#sql
      .exec<{ key: string; route: string }>("SELECT key, route FROM records WHERE bucket = ? AND id = ?", bucket, id)
      .toArray();
    return row ?? UNLABELLED;
  }

  /** How to ask the origin whether the record's attempt took effect; `null` when that is not known. */
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

  /** All records in flight, including those whose attempt was lost and whose lock the alarm has not ended yet. */
  inFlight(): readonly { readonly id: RecordId; readonly entry: Entry }[] {
    return this.#sql
      .exec<FoundRow>(`SELECT ${FOUND_COLUMNS} FROM records WHERE bucket = ?`, IN_FLIGHT)
      .toArray()
      .map((row) => ({ id: recordId(row.id), entry: entryOf(row) }));
  }

  /**
   * Erases at most `limit` records of expired buckets, fewer when their bodies are large, and discards their chunks. Returns
   * how many it erased.
   */
  erase(now: EpochMs, limit: number): number {
    const most = Math.min(limit, this.#eraseAtOnce);
    const found = this.#sql
      .exec<ErasableRow>(
        "SELECT bucket, id, attempt_id AS name, ifnull(kept = 1 AND body IS NULL, 0) AS apart, CASE WHEN body IS NULL THEN 0 ELSE body_bytes END AS bytes FROM records WHERE bucket > 0 AND bucket <= ? ORDER BY bucket, id LIMIT ?",
        now,
        most,
      )
      .toArray();
    const rows = found.slice(0, countWithin(found, ERASE_BYTES));
    const isCut = rows.length < found.length;
    this.#eraseAtOnce = isCut ? rows.length : GROWTH * most;
    for (const { bucket, id, name, apart } of rows) {
      if (apart === 0) this.#moveRead(bucket, id, name);
      if (apart === 1 || this.bodies.isHeld(name)) this.#discard(name);
    }
    const last = rows.at(-1);
    // The rows were read in key order from the first key on, so this range holds exactly these rows.
    if (last !== undefined) {
      this.#sql.exec("DELETE FROM records WHERE bucket > 0 AND (bucket, id) <= (?, ?)", last.bucket, last.id);
    }
    if (rows.length < most && !isCut) this.expiryBuckets.forgetExpired(now);
    return rows.length;
  }

  #discard(body: string): void {
    this.bodies.discard(body);
    this.remote.discard(body);
  }

  /** When the next lock ends, the next bucket expires, or a discarded body can be erased; `null` when there is none. */
  nextDeadline(): EpochMs | null {
    const { bucket } = this.#sql
      .exec<{ bucket: number | null }>("SELECT min(bucket) AS bucket FROM records WHERE bucket > ?", IN_FLIGHT)
      .one();
    const deadlines = [this.lockEnds.next(), bucket, this.bodies.eraseAt(), this.remote.eraseAt()].filter(
      (value) => value !== null,
    );
    return deadlines.length === 0 ? null : epochMs(Math.min(...deadlines));
  }
}

function entryOf(row: FoundRow): Entry {
  return {
    record: readRecord(row),
    bucket: row.bucket,
    history: readHistory(row.history),
    response: readResponse(row),
  };
}

/** How many rows to erase: the first rows up to and including the one that reaches `bytes`; at least one. */
function countWithin(rows: readonly ErasableRow[], bytes: number): number {
  let sum = 0;
  const last = rows.findIndex((row) => (sum += row.bytes) >= bytes);
  return last === -1 ? rows.length : last + 1;
}

/** Whether the chunks of `before`, if any, still belong to `after`. */
function needsBody(before: IdempotencyRecord, after: IdempotencyRecord | null): boolean {
  if (after === null || after.attempt.id !== before.attempt.id) return false;
  return after.state === "started" || (after.state === "completed" && after.kept);
}

/**
 * Origin addresses to which a `connect` has succeeded once. Only for these does a failed `connect` mean that the origin is down.
 * They are stored so that an isolate that starts during an outage knows them too.
 */
export class Addresses {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  has(address: string): boolean {
    return this.#sql.exec("SELECT 1 FROM addresses WHERE address = ?", address).toArray().length > 0;
  }

  add(address: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO addresses (address) VALUES (?)", address);
  }
}
