// The records of one shard, page by page, for operators: first the open ones (in flight, failed, unknown), then the completed
// ones, newest bucket first. One call reads a bounded number of rows, whether or not they match, so that no request waits long
// behind it. Every statement uses a key.

import { type IdempotencyRecord, OPEN_STATES, type OpenState, type RecordState } from "../../core/record.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../../core/units.ts";
import { filterOf, type ListQuery } from "./list-query.ts";
import { endOf, IN_FLIGHT, lastExpired, listExpiryBuckets } from "./expiry-buckets.ts";
import { type Label, LABEL_COLUMNS, type LabelRow, readLabel } from "./label.ts";
import {
  bucketOf,
  IS_FINISHED,
  NUMBER,
  numberAfter,
  numberOf,
  type Place,
  placeAfter,
  placeIn,
  type RecordNumbers,
  slotOf,
  WAITING,
  type SlotRange,
  WHOLE_BUCKET,
} from "./record-numbers.ts";
import { RECORD_COLUMNS, type RecordRow, readRecord } from "./record-row.ts";
import type { Sql } from "./schema.ts";

/** A record as it stands at the time of the call. */
export interface SeenRecord extends Label {
  readonly id: RecordId;
  readonly record: IdempotencyRecord;
}

export interface ListPage {
  readonly records: readonly (SeenRecord & { readonly at: string })[];
  /** `null`: this is the last page. */
  readonly next: string | null;
}

/** The record as it stands now; `null` when it has expired. */
export type See = (id: RecordId, record: IdempotencyRecord) => IdempotencyRecord | null;

export interface OpenCounts {
  readonly failed: number;
  readonly unknown: number;
  /** Those of these counts that may be too small: at most MAX_COUNTED rows are read for each. */
  readonly atLeast: readonly OpenState[];
}

/** Rows read to count one state: the console counts every two seconds, and requests wait meanwhile. */
export const MAX_COUNTED = 10_000;

/** Rows that one call reads, and rows that one filtering statement reads. */
const MAX_ROWS = 4000;
const ROWS_AT_ONCE = 1000;

/** Ids are hexadecimal, so this sorts after what follows any beginning of them. */
const AFTER_DIGITS = "~";

const COLUMNS = `${RECORD_COLUMNS}, ${LABEL_COLUMNS}`;
/** SQL: the numbers of slots ?2 through ?3 of bucket ?1. */
const SLOTS = `${numberOf("?1", "?2")} AND ${numberOf("?1", "?3")}`;

export class RecordList {
  readonly #sql: Sql;
  readonly #numbers: Pick<RecordNumbers, "windows">;

  constructor(sql: Sql, numbers: Pick<RecordNumbers, "windows">) {
    this.#sql = sql;
    this.#numbers = numbers;
  }

  page(query: ListQuery, see: See, now: EpochMs): ListPage {
    const matches = filterOf(query);
    const records: (SeenRecord & { at: string })[] = [];
    let scanned = 0;
    for (const range of resumeAfter(this.#ranges(query, now), query.after)) {
      let { from } = range;
      for (;;) {
        const { rows, end, scanned: more } = range.read(from, query.limit - records.length);
        for (const row of rows) {
          const record = see(recordId(row.id), readRecord(row));
          if (record === null || !matches(row, record)) continue;
          const at = cursorOf(range, placeIn(row));
          records.push({ id: recordId(row.id), ...readLabel(row), record, at });
          if (records.length === query.limit) return { records, next: at };
        }
        if (end === null) break;
        from = placeAfter(end);
        scanned += more;
        if (scanned >= MAX_ROWS) return { records, next: cursorOf(range, end) };
      }
    }
    return { records, next: null };
  }

  /** When the attempt of the longest undecided record began; `null` when no outcome is unknown. Reads at most MAX_COUNTED rows. */
  oldestUnknown(now: EpochMs): EpochMs | null {
    const { oldest } = this.#sql
      .exec<{ oldest: number | null }>(
        "SELECT min(started_at) AS oldest FROM (SELECT started_at FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = 'unknown' AND expires_at > ? LIMIT ?)",
        now,
        MAX_COUNTED,
      )
      .one();
    return oldest === null ? null : epochMs(oldest);
  }

  /** How many records are failed and how many unknown, without the bucket of records in flight. */
  countOpen(now: EpochMs): OpenCounts {
    const count = (state: OpenState): { readonly n: number; readonly looked: number } =>
      this.#sql
        // Newest first, so that expired records are read last.
        .exec<{ n: number; looked: number }>(
          `SELECT count(*) AS looked, count(*) FILTER (WHERE expires_at > ?) AS n FROM (SELECT expires_at FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = ? AND number >= ${numberAfter("?")} ORDER BY number DESC LIMIT ?)`,
          now,
          state,
          lastExpired(now),
          MAX_COUNTED,
        )
        .one();
    const counts = { failed: count("failed"), unknown: count("unknown") };
    const atLeast = OPEN_STATES.filter((state) => counts[state].looked === MAX_COUNTED);
    return { failed: counts.failed.n, unknown: counts.unknown.n, atLeast };
  }

  /** The end of the last expiry bucket: by then every finished record has expired. `null` without finished records. */
  lastExpiry(): EpochMs | null {
    const { bucket } = this.#sql
      .exec<{ bucket: number | null }>(`SELECT ${bucketOf("max(number)")} AS bucket FROM records WHERE ${IS_FINISHED}`)
      .one();
    return bucket === null ? null : endOf(bucket);
  }

  #ranges(query: ListQuery, now: EpochMs): readonly KeyRange[] {
    const wants = (state: RecordState): boolean => query.states.length === 0 || query.states.includes(state);
    switch (query.section) {
      case "open": {
        // An attempt in flight that is lost may have any state by now; a record that waits has no other.
        const waiting = wants("waiting") ? [this.#bucket(WAITING, query)] : [];
        const open = OPEN_STATES.filter(wants).map((state) => this.#open(state));
        return [this.#bucket(IN_FLIGHT, query), ...waiting, ...open];
      }
      case "completed":
        return this.#buckets(now)
          .filter((bucket) => bucket !== WAITING)
          .map((bucket) => this.#bucket(bucket, query));
      case "key":
        return [IN_FLIGHT, ...this.#buckets(now)].map((bucket) => this.#bucket(bucket, query));
    }
  }

  /** Newest first, without buckets whose records have all expired. */
  #buckets(now: EpochMs): readonly number[] {
    return listExpiryBuckets(this.#sql)
      .filter((bucket) => bucket > lastExpired(now))
      .toSorted((one, other) => other - one);
  }

  #bucket(of: number, { keyHash, route, startedBefore, caller = null, status = null }: ListQuery): KeyRange {
    const { from: first, through } = keyHash === null ? WHOLE_BUCKET : this.#numbers.windows(keyHash);
    const isFiltered = [keyHash, route, startedBefore, caller, status].some((one) => one !== null);
    const read = (slots: SlotRange, limit: number): Slice =>
      sliceOf(
        this.#sql
          .exec<ListRow>(
            `SELECT ${COLUMNS} FROM records WHERE number BETWEEN ${SLOTS} ORDER BY number LIMIT ?4`,
            of,
            slots.from,
            slots.through,
            limit,
          )
          .toArray(),
        limit,
      );
    const filter = (slots: SlotRange): Slice => {
      const last = this.#lastAtOnce(of, slots);
      const rows = this.#sql
        .exec<ListRow>(
          `SELECT ${COLUMNS} FROM records WHERE number BETWEEN ${SLOTS} AND (?4 IS NULL OR route = ?4) AND (?5 IS NULL OR started_at <= ?5) AND (?6 IS NULL OR (id >= ?6 AND id < ?7)) ORDER BY number`,
          of,
          slots.from,
          last ?? slots.through,
          route === null ? null : decodeURIComponent(route),
          startedBefore,
          keyHash,
          (keyHash ?? "") + AFTER_DIGITS,
        )
        .toArray();
      return { rows, scanned: ROWS_AT_ONCE, end: last === null ? null : { expiryBucket: of, slot: last } };
    };
    return {
      name: "bucket",
      from: { expiryBucket: of, slot: first },
      read: ({ expiryBucket, slot }, limit) => {
        // A cursor may name any place; records of other keys never belong to this list.
        const slots = { from: Math.max(first, slot), through };
        if (expiryBucket !== of || slots.from > through) return NOTHING;
        return isFiltered ? filter(slots) : read(slots, limit);
      },
    };
  }

  /** The last slot that one filtering statement reads; `null` when fewer than ROWS_AT_ONCE records are left. */
  #lastAtOnce(bucket: number, { from, through }: SlotRange): number | null {
    const [row] = this.#sql
      .exec<{ slot: number }>(
        `SELECT ${slotOf("number")} AS slot FROM records WHERE number BETWEEN ${SLOTS} ORDER BY number LIMIT 1 OFFSET ?4`,
        bucket,
        from,
        through,
        ROWS_AT_ONCE - 1,
      )
      .toArray();
    return row?.slot ?? null;
  }

  /** Failed or unknown records outside the bucket of those in flight. They are few, so rows are filtered one by one. */
  #open(state: OpenState): KeyRange {
    const read = ({ expiryBucket, slot }: Place, limit: number): Slice =>
      sliceOf(
        this.#sql
          .exec<ListRow>(
            `SELECT ${COLUMNS} FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = ? AND number >= ${NUMBER} ORDER BY number LIMIT ?`,
            state,
            expiryBucket,
            slot,
            limit,
          )
          .toArray(),
        limit,
      );
    return { name: state, from: { expiryBucket: IN_FLIGHT + 1, slot: 0 }, read };
  }
}

/** A range of rows in key order: one bucket, or one state in the index of open records. */
export interface KeyRange {
  readonly name: string;
  readonly from: Place;
  /** The next rows, at most `limit` unless they are filtered, from this place on. */
  readonly read: (from: Place, limit: number) => Slice;
}

export interface Slice {
  readonly rows: readonly ListRow[];
  readonly scanned: number;
  /** The last place that was read; `null` at the end of the range. */
  readonly end: Place | null;
}

export interface ListRow extends RecordRow, LabelRow {}

const NOTHING: Slice = { rows: [], scanned: 0, end: null };

/** The rows of a statement that reads at most `limit`. */
export function sliceOf(rows: readonly ListRow[], limit: number): Slice {
  const last = rows.length < limit ? undefined : rows.at(-1);
  return { rows, scanned: rows.length, end: last === undefined ? null : placeIn(last) };
}

function cursorOf({ name }: KeyRange, { expiryBucket, slot }: Place): string {
  return `${name}.${expiryBucket}.${slot}`;
}

/** The ranges after a position. Records that have since expired or arrived before it are never revisited. */
export function resumeAfter(ranges: readonly KeyRange[], after: string | null): readonly KeyRange[] {
  if (after === null) return ranges;
  const [name = "", bucketText, slotText] = after.split(".");
  const place = { expiryBucket: Number(bucketText), slot: Number(slotText) };
  const { expiryBucket } = place;
  const isAfter = (range: KeyRange): boolean => {
    if (range.name !== name) return ranges.indexOf(range) > ranges.findIndex((one) => one.name === name);
    // In flight first, then the newest.
    const of = range.from.expiryBucket;
    return name !== "bucket" || expiryBucket === IN_FLIGHT || (of !== IN_FLIGHT && of <= expiryBucket);
  };
  const isHere = (range: KeyRange): boolean =>
    range.name === name && (name !== "bucket" || range.from.expiryBucket === expiryBucket);
  const from = placeAfter(place);
  return ranges.filter(isAfter).map((range) => (isHere(range) ? { name: range.name, from, read: range.read } : range));
}
