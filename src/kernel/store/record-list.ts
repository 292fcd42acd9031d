// The records of one shard for operators, newest first, a part at a time (list-parts.ts). One call reads a bounded number of rows, so that
// no request waits long behind it. Every statement uses a key.

import { type IdempotencyRecord, isClosed, OPEN_STATES, type OpenState } from "../record/record.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../record/units.ts";
import { endOf, IN_FLIGHT, lastExpired, listExpiryBuckets, MAX_IN_LIST } from "./expiry-buckets.ts";
import { type RecordLabel, LABEL_COLUMNS, type LabelRow, readLabel } from "./label.ts";
import { chooseParts, MAX_CANDIDATES, MAX_GROWN, slotsOf } from "./list-parts.ts";
import {
  compareNewest,
  DUE,
  isAhead,
  isAskedFor,
  type ListPosition,
  type ListQuery,
  MATCHES,
  valuesOf,
  verdictOn,
} from "./list-query.ts";
import {
  bucketOf,
  bucketValues,
  IS_FINISHED,
  numberAfter,
  type RecordNumbers,
  recordsIn,
  type SlotRange,
  WAITING,
} from "./record-numbers.ts";
import { type UnknownReason, unknownReason } from "../record/timeline.ts";
import { readHistory, RECORD_COLUMNS, type RecordRow, readRecord } from "./record-row.ts";
import { readOrReport } from "./unreadable.ts";
import type { LedgerSql } from "./schema.ts";

/** A record as it stands at the time of the call. */
export interface SeenRecord extends RecordLabel {
  readonly id: RecordId;
  readonly record: IdempotencyRecord;
  /** Why nobody knows the outcome, if nobody does. */
  readonly reason: UnknownReason | null;
}

/** What one shard has of a part. */
export interface ListPage {
  /** In the order of the direction asked for. */
  readonly records: readonly SeenRecord[];
  /** Whether more of this part follow. */
  readonly more: boolean;
  /** How many records of this part match, wherever they are. */
  readonly matched: number;
  /** If they are more than were asked for, the shard has grown too much for those, and nothing was read. A search has one part. */
  readonly parts: number;
}

/** The record as it stands now; `null` when it has expired. */
export type SeeRecord = (id: RecordId, record: IdempotencyRecord) => IdempotencyRecord | null;

export interface OpenCounts {
  readonly failed: number;
  readonly unknown: number;
  /** Those of these counts that may be too small: at most MAX_COUNTED rows are read for each. */
  readonly atLeast: readonly OpenState[];
}

/** Rows read to count one state: the console counts every two seconds, and requests wait meanwhile. */
export const MAX_COUNTED = 10_000;

/** The history only of the few records that need a decision. */
const COLUMNS = `${RECORD_COLUMNS}, ${LABEL_COLUMNS}, CASE WHEN state = 'unknown' THEN history END AS history`;

/** SQL: no `LIMIT`. */
const UNBOUNDED = -1;

interface ListRow extends RecordRow, LabelRow {
  readonly history: string | null;
}

interface Tally {
  /** Rows that were looked at. */
  readonly looked: number;
  readonly matched: number;
  /** Rows that have to be read whole. */
  readonly due: number;
}

/** Where the records can be that a filter names: open ones are few, and have places of their own. */
type Kind = "open" | "all";

export class RecordList {
  readonly #sql: LedgerSql;
  readonly #numbers: Pick<RecordNumbers, "windows">;
  /** With how many parts the last list was read: a page that refreshes need not search for them. */
  readonly #lastParts = new Map<Kind, number>();

  constructor(sql: LedgerSql, numbers: Pick<RecordNumbers, "windows">) {
    this.#sql = sql;
    this.#numbers = numbers;
  }

  page(query: ListQuery, see: SeeRecord, now: EpochMs): ListPage {
    const kind = kindOf(query);
    const sources = this.#sources(query, kind, now);
    const tallies = new Map<number, Tally>();
    const tally = (parts: number): Tally => {
      const known = tallies.get(parts) ?? this.#tally(sources, query, this.#slots(query, parts), now);
      tallies.set(parts, known);
      return known;
    };
    const parts = query.keyHash === null ? (query.parts ?? this.#chooseParts(kind, tally)) : 1;
    const { looked, matched, due } = tally(parts);
    if (query.keyHash === null) {
      if (looked > MAX_GROWN) return { records: [], more: false, matched: 0, parts: 2 * parts };
      this.#lastParts.set(kind, parts);
    }
    const slots = this.#slots(query, parts);
    const changed = due === 0 ? [] : this.#due(sources, query, slots, now).flatMap((row) => seenNow(row, see));
    const asked = changed.filter(({ record }) => isAskedFor(query, record));
    const ahead = asked.filter((one) => isAhead(positionOf(one), query));
    const sign = query.direction === "after" ? 1 : -1;
    const records = [...this.#next(sources, query, slots, now).flatMap((row) => seenNow(row, see)), ...ahead].toSorted(
      (one, other) => sign * compareNewest(positionOf(one), positionOf(other)),
    );
    return {
      records: records.slice(0, query.limit),
      more: records.length > query.limit,
      matched: matched + asked.length,
      parts,
    };
  }

  /** When the attempt of the longest undecided record began; `null` when no outcome is unknown. Reads at most MAX_COUNTED rows. */
  oldestUnknown(now: EpochMs): EpochMs | null {
    const { oldest } = this.#sql
      .exec<{ oldest: number | null }>(
        "SELECT min(started_at) AS oldest FROM (SELECT started_at FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = 'unknown' AND expires_at > ? LIMIT +?)",
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
          `SELECT count(*) AS looked, count(*) FILTER (WHERE expires_at > ?) AS n FROM (SELECT expires_at FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = ? AND number >= ${numberAfter("?")} ORDER BY number DESC LIMIT +?)`,
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

  /** SQL: where the records lie that can match, with slots ?1 through ?2 of each bucket. */
  #sources(query: ListQuery, kind: Kind, now: EpochMs): readonly string[] {
    const buckets = listExpiryBuckets(this.#sql).filter((bucket) => bucket !== WAITING);
    const finished = buckets.filter((bucket) => bucket > lastExpired(now));
    // What is left of a record whose key is remembered lies in its expired bucket until the alarm moves it (expired-records.ts).
    const mayBeLeft = query.states.length === 0 || query.states.includes("remembered");
    if (kind === "all") return listsOf([IN_FLIGHT, WAITING, ...(mayBeLeft ? buckets : finished)]).map(recordsIn);
    // An attempt in flight that is lost may have any state by now; a request that waits may have been given up.
    const mayWait = query.states.includes("waiting") || query.states.includes("failed");
    const open = OPEN_STATES.filter((state) => query.states.includes(state));
    return [
      recordsIn(bucketValues(mayWait ? [IN_FLIGHT, WAITING] : [IN_FLIGHT])),
      ...open.flatMap((state) => listsOf(finished).map((values) => openIn(values, state))),
    ];
  }

  #chooseParts(kind: Kind, tally: (parts: number) => Tally): number {
    return chooseParts(this.#lastParts.get(kind) ?? 1, (parts) => tally(parts).looked);
  }

  #slots(query: ListQuery, parts: number): SlotRange {
    if (query.keyHash !== null) return this.#numbers.windows(query.keyHash);
    return slotsOf(parts, query.part ?? (query.direction === "after" ? 0 : parts - 1));
  }

  /** Stops where the part is too large; a search reads all of its windows. */
  #tally(sources: readonly string[], query: ListQuery, slots: SlotRange, now: EpochMs): Tally {
    const bound = query.keyHash === null ? 1 + (query.parts === null ? MAX_CANDIDATES : MAX_GROWN) : Infinity;
    let [looked, matched, due] = [0, 0, 0];
    for (const source of sources) {
      const most = bound - looked;
      const some = this.#sql
        .exec<Tally & Record<string, SqlStorageValue>>(
          `SELECT count(*) AS looked, count(*) FILTER (WHERE verdict = ${MATCHES}) AS matched, count(*) FILTER (WHERE verdict = ${DUE}) AS due FROM (SELECT ${verdictOn(query)} AS verdict FROM ${source} LIMIT +?11)`,
          ...valuesOf(query, slots, now),
          most === Infinity ? UNBOUNDED : most,
        )
        .one();
      looked += some.looked;
      matched += some.matched;
      due += some.due;
    }
    return { looked, matched, due };
  }

  #due(sources: readonly string[], query: ListQuery, slots: SlotRange, now: EpochMs): readonly ListRow[] {
    return sources.flatMap((source) =>
      this.#sql
        .exec<ListRow>(
          `SELECT ${COLUMNS} FROM ${source} WHERE ${verdictOn(query)} = ${DUE} LIMIT +?11`,
          ...valuesOf(query, slots, now),
          UNBOUNDED,
        )
        .toArray(),
    );
  }

  /** The next rows that match as they are stored, of each source: one more than asked for, if there is one. */
  #next(sources: readonly string[], query: ListQuery, slots: SlotRange, now: EpochMs): readonly ListRow[] {
    const { direction, limit, position } = query;
    const [than, order] = direction === "after" ? ["<", "DESC"] : [">", "ASC"];
    const rest = position === null ? "" : `(started_at, id) ${than} (?12, ?13) AND `;
    const last = position === null ? [] : [position.startedAt, position.id];
    return sources.flatMap((source) =>
      this.#sql
        .exec<ListRow>(
          `SELECT ${COLUMNS} FROM records WHERE number IN (SELECT records.number FROM ${source} WHERE ${rest}${verdictOn(query)} = ${MATCHES} ORDER BY started_at ${order}, id ${order} LIMIT +?11)`,
          ...valuesOf(query, slots, now),
          limit + 1,
          ...last,
        )
        .toArray(),
    );
  }
}

function kindOf({ keyHash, states }: ListQuery): Kind {
  return keyHash === null && states.length > 0 && !states.some(isClosed) ? "open" : "all";
}

/** SQL: the buckets for one statement or more (`recordsIn`). */
function listsOf(buckets: readonly number[]): readonly string[] {
  return Array.from({ length: Math.ceil(buckets.length / MAX_IN_LIST) }, (_, at) =>
    bucketValues(buckets.slice(at * MAX_IN_LIST, (at + 1) * MAX_IN_LIST)),
  );
}

/** SQL: the failed or unknown records among `recordsIn`, by their index. */
function openIn(values: string, state: OpenState): string {
  return `(VALUES ${values}) AS live CROSS JOIN records INDEXED BY records_open ON records.state IN ('failed', 'unknown') AND records.state = '${state}' AND records.number BETWEEN live.column1 | ?1 AND live.column1 | ?2`;
}

function seenNow(row: ListRow, see: SeeRecord): readonly SeenRecord[] {
  const id = recordId(row.id);
  // One that cannot be read must not hide the others.
  const stored = readOrReport(() => readRecord(row), { recordId: row.id });
  const record = stored === null ? null : see(id, stored);
  if (record === null) return [];
  const reason =
    record.state === "unknown"
      ? readOrReport(() => unknownReason(readHistory(row.history)), { recordId: row.id })
      : null;
  return [{ id, ...readLabel(row), record, reason }];
}

/** Where a list shows it. */
export function positionOf({ id, record }: SeenRecord): ListPosition {
  return { startedAt: record.attempt.startedAt, id };
}
