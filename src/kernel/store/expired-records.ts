// Erases records that have expired, with their bodies, in slices: requests wait while one is erased. What the life cycle leaves of a
// record, because its key is remembered, moves to the bucket in which that ends.

import { step } from "../record/life-cycle.ts";
import { type IdempotencyRecord, promiseIn } from "../record/record.ts";
import { bodyNumber, type EpochMs, recordId } from "../record/units.ts";
import type { RecordChange } from "../step-hook.ts";
import { type RecordLabel, UNLABELLED } from "./label.ts";
import type { AliasRows } from "../previous-scope/aliases.ts";
import { type BodyStore, ERASE_BYTES, ERASE_ROWS, EraseSlice } from "./bodies.ts";
import { endOf, expiryBucketOf, type ExpiryBuckets, lastExpired } from "./expiry-buckets.ts";
import {
  bucketOf,
  IS_AT_REST,
  IS_FINISHED,
  LAST_BUCKET,
  NUMBER,
  numberAfter,
  rowLocationOf,
} from "./record-numbers.ts";
import { readRecord, RECORD_COLUMNS, type RecordRow } from "./record-row.ts";
import { type RecordRows } from "./record-rows.ts";
import type { RemoteBodies } from "../overflow/remote-bodies.ts";
import { FIRST_CHUNKS } from "./response-rows.ts";
import type { LedgerSql } from "./schema.ts";
import type { StoredRequest } from "./stored-request.ts";
import { readOrReport } from "./unreadable.ts";

/** How fast slices grow again when records are small. */
const GROWTH = 4;

/** The largest message of a queue (platform limit). Its dead letter is made of it, in the turn that erases its record. */
const MAX_MESSAGE_BYTES = 128_000;

interface ErasableRow extends RecordRow {
  /** The body in chunks, if it has one. */
  readonly body: number | null;
  readonly chunks: number;
  /** Of the response's body and of its headers, in the row or in chunks. */
  readonly bytes: number;
  readonly head_bytes: number;
  /** 1: the body is in R2. */
  readonly remote: number;
  /** 1: a request is stored with it, whose body may have chunks of its own. */
  readonly asks: number;
  /** Of that request's body, or more. */
  readonly request_bytes: number;
}

/** An expired record with its row. */
interface Erasable {
  readonly row: ErasableRow;
  readonly record: IdempotencyRecord;
  /** It is a parked message that may have a dead letter. */
  readonly tells: boolean;
}

/** Where records and bodies are. */
interface Stores {
  readonly bodies: BodyStore;
  readonly remote: RemoteBodies;
  readonly expiryBuckets: ExpiryBuckets;
  readonly aliases: AliasRows;
  readonly rows: RecordRows;
}

/** Gets each parked message whose record is erased, or replaced by what is remembered of it, in that transaction. */
export type OnExpired = (change: RecordChange) => void;

export class ExpiredRecords {
  readonly #sql: LedgerSql;
  readonly #transaction: (run: () => void) => void;
  readonly #stores: Stores;
  /** How many records the next slice reads: when records are large, no more than it will erase. */
  #atOnce = Number.POSITIVE_INFINITY;

  constructor(sql: LedgerSql, transaction: (run: () => void) => void, stores: Stores) {
    this.#sql = sql;
    this.#transaction = transaction;
    this.#stores = stores;
  }

  /** When the next bucket expires; `null`: there is none. */
  nextAt(): EpochMs | null {
    const { bucket } = this.#sql
      .exec<{ bucket: number | null }>(`SELECT ${bucketOf("min(number)")} AS bucket FROM records WHERE ${IS_FINISHED}`)
      .one();
    return bucket === null || bucket >= LAST_BUCKET ? null : endOf(bucket);
  }

  /**
   * Erases at most `limit` records of expired buckets with their bodies, fewer when these are large. A body that is being read, or
   * is too large for one slice, is only discarded. What `onExpired` writes is in the same commit; `committed` is called right after it.
   * Returns how many records it erased or moved.
   */
  erase(
    now: EpochMs,
    limit: number,
    onExpired: OnExpired = () => undefined,
    committed = (): void => undefined,
  ): number {
    const most = Math.min(limit, this.#atOnce);
    const found = this.#sql
      .exec<ErasableRow>(
        `SELECT ${RECORD_COLUMNS}, body_number AS body, ifnull(chunks, 0) AS chunks, ifnull(body_bytes, 0) AS bytes, ifnull(octet_length(ifnull(headers, head)), 0) AS head_bytes, ifnull(kept > 0 AND body IS NULL AND chunks = 0, 0) AS remote, request IS NOT NULL AS asks, ifnull(octet_length(request_body), ${MAX_MESSAGE_BYTES}) AS request_bytes FROM records ${FIRST_CHUNKS} WHERE ${IS_AT_REST} AND records.number < ${numberAfter("?")} ORDER BY records.number LIMIT +?`,
        lastExpired(now),
        most,
      )
      .toArray();
    const readable = this.#readable(found);
    const count = countInSlice(readable);
    const erased = readable.slice(0, count);
    const last = erased.at(-1);
    // Until the rows are gone, they name the bodies.
    if (last !== undefined) {
      this.#transaction(() => this.#eraseThrough(last.row, erased, now, onExpired));
      committed();
    }
    this.#stores.aliases.recount();
    const isCut = count < readable.length;
    this.#atOnce = isCut ? count : GROWTH * most;
    if (found.length < most && !isCut) this.#stores.expiryBuckets.forgetExpired(now);
    return count;
  }

  /** Those that can be read. The others are set aside: an operation whose record says nothing must not run again because of that. */
  #readable(found: readonly ErasableRow[]): readonly Erasable[] {
    return found.flatMap((row) => {
      const record = readOrReport(() => readRecord(row), { recordId: row.id });
      if (record !== null) return [{ row, record, tells: promiseIn(record)?.message !== undefined }];
      this.#setAside(row);
      return [];
    });
  }

  /** Moves a record to where none expires: there it is found, and in nobody's way. */
  #setAside({ id, bucket, slot }: ErasableRow): void {
    const { rows, expiryBuckets } = this.#stores;
    expiryBuckets.add(LAST_BUCKET);
    rows.setAside(recordId(id), { expiryBucket: bucket, slot });
  }

  #eraseThrough(last: ErasableRow, erased: readonly Erasable[], now: EpochMs, onExpired: OnExpired): void {
    const { aliases, bodies, remote } = this.#stores;
    const rows = erased.map(({ row }) => row);
    const isRead = rows.some(({ body }) => body !== null && bodies.isHeld(bodyNumber(body)));
    // Mostly each body has one chunk and nobody reads any: then one statement erases them all.
    if (!isRead && rows.some(({ chunks }) => chunks === 1)) bodies.eraseSingleChunks(rowLocationOf(last));
    for (const { row, record, tells } of erased) {
      const request = row.asks === 1 ? this.#stores.rows.request(recordId(row.id), rowLocationOf(row)) : null;
      // Before the message's chunks are discarded.
      if (tells) onExpired(this.#change(row, record, request, now));
      if (request?.body.kind === "chunks") bodies.discard(request.body.body);
      if (record.policy.rememberMs === undefined || !this.#moves(row, record, now)) aliases.erase(recordId(row.id));
      if (row.remote === 1) remote.discard(row.attempt_id);
      if (row.body === null || (!isRead && row.chunks === 1)) continue;
      const body = bodyNumber(row.body);
      if (fitsSlice(row) && !bodies.isHeld(body)) bodies.erase(body);
      else bodies.discard(body);
    }
    // The rows were read in key order from the first key on, so this range holds exactly these rows, without those that have moved.
    this.#sql.exec(`DELETE FROM records WHERE ${IS_AT_REST} AND number <= ${NUMBER}`, last.bucket, last.slot);
  }

  #change(row: ErasableRow, before: IdempotencyRecord, request: StoredRequest | null, now: EpochMs): RecordChange {
    const id = recordId(row.id);
    const label = (): RecordLabel => this.#stores.rows.label(id, rowLocationOf(row)) ?? UNLABELLED;
    return { id, before, after: leftOf(before, now), now, label, request: () => request };
  }

  /** Moves what is left of a record, without its response; `false` if nothing is. */
  #moves(row: ErasableRow, expired: IdempotencyRecord, now: EpochMs): boolean {
    const { rows, expiryBuckets } = this.#stores;
    const record = leftOf(expired, now);
    if (record === null) return false;
    const bucket = expiryBucketOf(record);
    expiryBuckets.add(bucket);
    const nothing = {
      response: null,
      body: null,
      verification: null,
      keyForm: null,
      history: [],
      label: null,
      request: null,
    };
    const acceptanceWrite = row.asks === 1 ? "end" : "never";
    rows.put(recordId(row.id), rowLocationOf(row), bucket, { record, acceptanceWrite, ...nothing });
    return true;
  }
}

function leftOf(expired: IdempotencyRecord, now: EpochMs): IdempotencyRecord | null {
  return step(expired, { type: "tick" }, expired.policy, now).record;
}

/** Whether a body can be erased together with its record. */
function fitsSlice({ chunks, bytes }: ErasableRow): boolean {
  return chunks < ERASE_ROWS && bytes <= ERASE_BYTES;
}

/** How many of the first rows one slice erases; at least one. */
function countInSlice(erasable: readonly Erasable[]): number {
  const slice = new EraseSlice();
  let count = 0;
  for (const { row, tells } of erasable) {
    if (slice.isSpent) break;
    slice.take(
      1 + (tells ? 1 : 0) + (fitsSlice(row) ? row.chunks : 0),
      row.head_bytes + (tells ? row.request_bytes : 0) + (fitsSlice(row) ? row.bytes : 0),
    );
    count += 1;
  }
  return count;
}
