// The records of one shard, page by page, for operators: first the open ones (in flight, failed, unknown), then the completed
// ones, newest bucket first. One call reads a bounded number of rows, whether or not they match, so that no request waits long
// behind it. Every statement uses a key.

import { type IdempotencyRecord, OPEN_STATES, type OpenState } from "../../core/record.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../../core/units.ts";
import { IN_FLIGHT, listExpiryBuckets } from "./expiry-buckets.ts";
import { type Label, RECORD_COLUMNS, type RecordRow, readRecord } from "./record-rows.ts";
import type { Sql } from "./schema.ts";

/** Only ids, enums and numbers, because it travels as JSON in a header (see itty.ts). */
export interface ListQuery {
  /** Which part of the shard: open records, completed records, or all records of one key. */
  readonly section: "open" | "completed" | "key";
  /** For the section `key`: the beginning of the ids. It may be shorter or longer than a key's hash. */
  readonly keyHash: string | null;
  /** Empty: all. */
  readonly states: readonly IdempotencyRecord["state"][];
  /** The route's path, percent-encoded. */
  readonly route: string | null;
  readonly startedBefore: number | null;
  /** Where to continue: the `at` of a record, or a page's `next`. */
  readonly after: string | null;
  readonly limit: number;
}

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
  /** The counts that may be too small: at most MAX_COUNTED rows are read for each. */
  readonly atLeast: readonly OpenState[];
}

/** Rows read to count one state: the console counts every two seconds, and requests wait meanwhile. */
export const MAX_COUNTED = 10_000;

/** Rows that one call reads, and rows that one filtering statement reads. */
const MAX_ROWS = 4000;
const ROWS_AT_ONCE = 1000;

/** Ids are hexadecimal, so these sort before and after all of them. */
const BEFORE_IDS = "";
const AFTER_IDS = "~";

const COLUMNS = `${RECORD_COLUMNS}, key, route`;

export class RecordList {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  page(query: ListQuery, see: See, now: EpochMs): ListPage {
    const matches = filterOf(query);
    const records: (SeenRecord & { at: string })[] = [];
    let scanned = 0;
    for (const range of resumeAfter(this.#ranges(query, now), query.after)) {
      let { bucket, id } = range;
      for (;;) {
        const { rows, end, scanned: more } = range.read(bucket, id, query.limit - records.length);
        for (const row of rows) {
          const record = see(recordId(row.id), readRecord(row));
          if (record === null || !matches(row, record)) continue;
          const at = `${range.name}.${row.bucket}.${row.id}`;
          records.push({ id: recordId(row.id), key: row.key, route: row.route, record, at });
          if (records.length === query.limit) return { records, next: at };
        }
        if (end === null) break;
        ({ bucket, id } = end);
        scanned += more;
        if (scanned >= MAX_ROWS) return { records, next: `${range.name}.${bucket}.${id}` };
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
          "SELECT count(*) AS looked, count(*) FILTER (WHERE expires_at > ?) AS n FROM (SELECT expires_at FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = ? AND bucket > ? ORDER BY bucket DESC LIMIT ?)",
          now,
          state,
          // Every record of an earlier bucket has expired.
          Math.max(IN_FLIGHT, now),
          MAX_COUNTED,
        )
        .one();
    const counts = { failed: count("failed"), unknown: count("unknown") };
    const atLeast = OPEN_STATES.filter((state) => counts[state].looked === MAX_COUNTED);
    return { failed: counts.failed.n, unknown: counts.unknown.n, atLeast };
  }

  /** The end of the last expiry bucket: by then every finished record has expired. `null` without finished records. */
  lastExpiry(): EpochMs | null {
    const { bucket } = this.#sql.exec<{ bucket: number | null }>("SELECT max(bucket) AS bucket FROM records").one();
    return bucket === null || bucket === IN_FLIGHT ? null : epochMs(bucket);
  }

  #ranges(query: ListQuery, now: EpochMs): readonly KeyRange[] {
    const { section, states } = query;
    const wants = (state: IdempotencyRecord["state"]): boolean => states.length === 0 || states.includes(state);
    switch (section) {
      case "open": {
        const open = OPEN_STATES.filter(wants).map((state) => this.#open(state));
        return [this.#bucket(IN_FLIGHT, query), ...open];
      }
      case "completed":
        return this.#buckets(now).map((bucket) => this.#bucket(bucket, query));
      case "key":
        return [IN_FLIGHT, ...this.#buckets(now)].map((bucket) => this.#bucket(bucket, query));
    }
  }

  /** Newest first, without buckets whose records have all expired. */
  #buckets(now: EpochMs): readonly number[] {
    return listExpiryBuckets(this.#sql)
      .filter((bucket) => bucket > now)
      .toSorted((one, other) => other - one);
  }

  #bucket(of: number, { keyHash, route, startedBefore }: ListQuery): KeyRange {
    const [first, end] = [keyHash === null ? BEFORE_IDS : justBefore(keyHash), (keyHash ?? "") + AFTER_IDS];
    const isFiltered = route !== null || startedBefore !== null;
    const read = (bucket: number, id: string, limit: number): Slice =>
      sliceOf(
        this.#sql
          .exec<ListRow>(
            `SELECT ${COLUMNS} FROM records WHERE bucket = ? AND id > ? AND id < ? ORDER BY id LIMIT ?`,
            bucket,
            id,
            end,
            limit,
          )
          .toArray(),
        limit,
      );
    const filter = (bucket: number, id: string): Slice => {
      const last = this.#idAfter(bucket, id, end);
      const rows = this.#sql
        .exec<ListRow>(
          `SELECT ${COLUMNS} FROM records WHERE bucket = ?1 AND id > ?2 AND id <= ?3 AND (?4 IS NULL OR route = ?4) AND (?5 IS NULL OR started_at <= ?5) ORDER BY id`,
          bucket,
          id,
          last ?? end,
          route === null ? null : decodeURIComponent(route),
          startedBefore,
        )
        .toArray();
      return { rows, scanned: ROWS_AT_ONCE, end: last === null ? null : { bucket, id: last } };
    };
    // A cursor may name any place; records of other keys never belong to this list.
    const fromFirst: KeyRange["read"] = (bucket, id, limit) =>
      (isFiltered ? filter : read)(bucket, id < first ? first : id, limit);
    return { name: "bucket", bucket: of, id: first, read: fromFirst };
  }

  /** The last id that one filtering statement reads; `null` when fewer than ROWS_AT_ONCE are left. */
  #idAfter(bucket: number, id: string, end: string): string | null {
    const [row] = this.#sql
      .exec<{ id: string }>(
        "SELECT id FROM records WHERE bucket = ? AND id > ? AND id < ? ORDER BY id LIMIT 1 OFFSET ?",
        bucket,
        id,
        end,
        ROWS_AT_ONCE - 1,
      )
      .toArray();
    return row?.id ?? null;
  }

  /** Failed or unknown records outside the bucket of those in flight. They are few, so rows are filtered one by one. */
  #open(state: OpenState): KeyRange {
    const read = (bucket: number, id: string, limit: number): Slice =>
      sliceOf(
        this.#sql
          .exec<ListRow>(
            `SELECT ${COLUMNS} FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = ? AND (bucket, id) > (?, ?) ORDER BY bucket, id LIMIT ?`,
            state,
            bucket,
            id,
            limit,
          )
          .toArray(),
        limit,
      );
    return { name: state, bucket: IN_FLIGHT, id: AFTER_IDS, read };
  }
}

/** A string that sorts directly before `begin`: after all smaller ids, before every id that begins with it. */
function justBefore(begin: string): string {
  const last = begin.codePointAt(begin.length - 1) ?? 0;
  return begin.slice(0, -1) + String.fromCodePoint(last - 1) + AFTER_IDS;
}

function filterOf({
  section,
  states,
  route,
  startedBefore,
}: ListQuery): (row: ListRow, now: IdempotencyRecord) => boolean {
  const path = route === null ? null : decodeURIComponent(route);
  return (row, { state }) =>
    (states.length === 0 || states.includes(state)) &&
    (section === "key" || (section === "completed") === (state === "completed")) &&
    (path === null || row.route === path) &&
    (startedBefore === null || row.started_at <= startedBefore);
}

/** A range of rows in key order: one bucket, or one state in the index of open records. */
export interface KeyRange {
  readonly name: string;
  readonly bucket: number;
  readonly id: string;
  /** The next rows after a position, at most `limit`. */
  readonly read: (bucket: number, id: string, limit: number) => Slice;
}

export interface Slice {
  readonly rows: readonly ListRow[];
  readonly scanned: number;
  /** Where to continue; `null` at the end of the range. */
  readonly end: { readonly bucket: number; readonly id: string } | null;
}

export interface ListRow extends RecordRow {
  readonly key: string;
  readonly route: string;
}

/** The rows of a statement that reads at most `limit`. */
export function sliceOf(rows: readonly ListRow[], limit: number): Slice {
  return { rows, scanned: rows.length, end: rows.length < limit ? null : (rows.at(-1) ?? null) };
}

/** The ranges after a position. Records that have since expired or arrived before it are never revisited. */
export function resumeAfter(ranges: readonly KeyRange[], after: string | null): readonly KeyRange[] {
  if (after === null) return ranges;
  const [name = "", bucketText = "", id = ""] = after.split(".");
  const bucket = Number(bucketText);
  const isAfter = (range: KeyRange): boolean => {
    if (range.name !== name) return ranges.indexOf(range) > ranges.findIndex((one) => one.name === name);
    // In flight first, then the newest.
    return name !== "bucket" || bucket === IN_FLIGHT || (range.bucket !== IN_FLIGHT && range.bucket <= bucket);
  };
  const isHere = (range: KeyRange): boolean => range.name === name && (name !== "bucket" || range.bucket === bucket);
  return ranges.filter(isAfter).map((range) => (isHere(range) ? from(range, bucket, id) : range));
}

function from({ name, read }: KeyRange, bucket: number, id: string): KeyRange {
  return { name, bucket, id, read };
}
