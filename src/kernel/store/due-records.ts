// When the lock of each attempt in flight ends. Kept in memory, because the alarm reads it each time and an index would cost
// every claim a row. This instance is the only writer, so it knows all locks once it has read the stored ones.

import { type DueEntry, DueHeap } from "../record/due-heap.ts";
import type { LaneHead } from "../record/lanes.ts";
import { MAX_PAUSE_MS } from "../record/life-cycle.ts";
import type { IdempotencyRecord } from "../record/record.ts";
import { type EpochMs, type RecordId, epochMs, recordId } from "../record/units.ts";
import type { ExpiryBuckets } from "./expiry-buckets.ts";
import { IS_IN_FLIGHT, WAITING } from "./record-numbers.ts";
import { LANE, type LedgerSql } from "./schema.ts";
import { readDue } from "./unreadable.ts";

/** When the lock of a record ends. */
export interface LockEnd extends DueEntry {
  readonly id: RecordId;
}

export class LockEnds {
  readonly #sql: LedgerSql;
  /** Ordered by end, so that nothing looks at all of them. */
  #heap: DueHeap<LockEnd>;
  /** `null` until the first read, which also finds the locks written before it. */
  #ends: Map<RecordId, LockEnd> | null = null;

  constructor(sql: LedgerSql, heap = new DueHeap<LockEnd>()) {
    this.#sql = sql;
    this.#heap = heap;
  }

  /** Notes a record that was written; `null` when it was erased. */
  note(id: RecordId, record: IdempotencyRecord | null): void {
    const ends = this.#ends;
    if (ends === null) return;
    if (record?.state === "started") {
      this.#move(ends, id, record.attempt.lockedUntil);
      return;
    }
    const known = ends.get(id);
    if (known === undefined) return;
    ends.delete(id);
    this.#heap.remove(known);
  }

  /** Looks at a record again at `until`: it could not be settled, and must not keep others from their turn. */
  putOff(id: RecordId, until: EpochMs): void {
    this.#move(this.#all(), id, until);
  }

  /** Each has its own end again: a clock that was ahead has put some off for as long as it was ahead. */
  readAgain(): void {
    if (this.#ends === null) return;
    this.#ends = null;
    this.#heap = new DueHeap();
  }

  /** When the next lock ends; `null` when no record has a lock. */
  next(): EpochMs | null {
    this.#all();
    const next = this.#heap.earliest;
    return next === null ? null : epochMs(next);
  }

  /** The records whose locks have ended, earliest end first. Each is given again until its new end, or its own, is noted. */
  ended(now: EpochMs, limit: number): readonly RecordId[] {
    this.#all();
    const ended = this.#heap.takeDue(now, limit);
    for (const end of ended) this.#heap.put(end);
    return ended.map(({ id }) => id);
  }

  /** Removed first: the heap leaves an entry that is merely postponed where it is, and would find it too early. */
  #move(ends: Map<RecordId, LockEnd>, id: RecordId, at: number): void {
    const known = ends.get(id);
    const end = known ?? { id, at, index: -1 };
    if (known === undefined) ends.set(id, end);
    else this.#heap.remove(end);
    end.at = at;
    this.#heap.put(end);
  }

  #all(): Map<RecordId, LockEnd> {
    if (this.#ends !== null) return this.#ends;
    const ends = new Map<RecordId, LockEnd>();
    const rows = this.#sql
      .exec<{ id: string; locked_until: number }>(
        `SELECT id, locked_until FROM records WHERE ${IS_IN_FLIGHT} AND state = 'started'`,
      )
      .toArray();
    for (const row of rows) this.#move(ends, recordId(row.id), readDue(row.locked_until));
    this.#ends = ends;
    return ends;
  }
}

/** How many of the last ones of a lane, or of a route, are looked at for those that a wrong clock has put there. */
export const LAST_LOOKED_AT = 20;

/** The accepted requests that wait for their next attempt. Reads an index that holds only these, and nothing as long as there are none. */
export class DueRequests {
  readonly #sql: LedgerSql;
  readonly #buckets: Pick<ExpiryBuckets, "all">;

  constructor(sql: LedgerSql, buckets: Pick<ExpiryBuckets, "all">) {
    this.#sql = sql;
    this.#buckets = buckets;
  }

  /** Whether this instance knows of any. */
  get #mayWait(): boolean {
    return this.#buckets.all.has(WAITING);
  }

  /** The first request of each lane, due or not. Costs one seek for each lane, of which there are few. */
  lanes(): readonly LaneHead[] {
    if (!this.#mayWait) return [];
    return (
      this.#sql
        .exec<LaneHead & Record<string, SqlStorageValue>>(
          `WITH RECURSIVE found(lane) AS (
           SELECT min(${LANE}) FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL
           UNION ALL SELECT (SELECT min(${LANE}) FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL AND ${LANE} > found.lane) FROM found WHERE found.lane IS NOT NULL
         ) SELECT lane, (SELECT min(start_at) FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL AND ${LANE} = found.lane) AS at FROM found WHERE lane IS NOT NULL`,
        )
        .toArray()
        // A time that no record can have stands before all others of its lane: whoever begins it finds out, and puts it off.
        .filter(({ at }) => typeof at === "number")
        .map(({ lane, at }) => ({ lane, at: readDue(at) }))
    );
  }

  /** The requests of a lane that are due, longest due first. */
  first(lane: number, now: EpochMs, limit: number): readonly RecordId[] {
    return this.#sql
      .exec<{ id: string }>(
        `SELECT id FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL AND ${LANE} = ? AND start_at <= ? ORDER BY start_at LIMIT +?`,
        lane,
        now,
        limit,
      )
      .toArray()
      .map(({ id }) => recordId(id));
  }

  /**
   * Those that a clock has put too far away that was ahead (kernel/record/schedule.ts). They lie behind all others of their lanes, so the last ones of
   * each are looked at.
   */
  tooFar(now: EpochMs): readonly RecordId[] {
    return this.lanes().flatMap(({ lane }) =>
      this.#sql
        .exec<{ id: string }>(
          `SELECT id FROM (SELECT id, start_at, locked_until, accepted FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL AND ${LANE} = ?1 AND start_at > ?2 ORDER BY start_at DESC LIMIT ${LAST_LOOKED_AT}) WHERE locked_until <= ?2 AND start_at > ?2 + (accepted ->> '$.schedule.longestPauseMs')`,
          lane,
          now,
        )
        .toArray()
        .map(({ id }) => recordId(id)),
    );
  }

  /** How many wait, at most `limit`. Reads the index alone. */
  count(limit: number): number {
    if (!this.#mayWait) return 0;
    return this.#sql
      .exec<{ n: number }>(
        "SELECT count(*) AS n FROM (SELECT 1 FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL LIMIT +?)",
        limit,
      )
      .one().n;
  }

  /** When the next one is due, or was, `without` these; `null` when no other waits. */
  next(without: ReadonlySet<RecordId> = new Set()): EpochMs | null {
    const lanes = this.lanes();
    const times =
      without.size === 0 ? lanes.map(({ at }) => at) : lanes.flatMap(({ lane }) => this.#next(lane, without));
    return times.length === 0 ? null : epochMs(Math.min(...times));
  }

  #next(lane: number, without: ReadonlySet<RecordId>): readonly number[] {
    return this.#sql
      .exec<{ id: string; at: number }>(
        `SELECT id, start_at AS at FROM records INDEXED BY records_waiting WHERE start_at IS NOT NULL AND ${LANE} = ? ORDER BY start_at LIMIT +?`,
        lane,
        without.size + 1,
      )
      .toArray()
      .flatMap(({ id, at }) => (without.has(recordId(id)) || typeof at !== "number" ? [] : [readDue(at)]))
      .slice(0, 1);
  }
}

/** A record whose outcome the origin has to be asked about, and when. */
export interface WaitingVerification {
  readonly id: RecordId;
  readonly at: EpochMs;
}

/** Reads an index that holds only these records, ordered by route first, so that many of one route never hide another route's. */
export class WaitingVerifications {
  readonly #sql: LedgerSql;

  constructor(sql: LedgerSql) {
    this.#sql = sql;
  }

  /** The routes that have waiting verifications, in order. Costs one seek for each route. */
  routes(): readonly string[] {
    return this.#sql
      .exec<{ route: string }>(
        `WITH RECURSIVE found(route) AS (
           SELECT min(route) FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL
           UNION ALL SELECT (SELECT min(route) FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL AND route > found.route) FROM found WHERE found.route IS NOT NULL
         ) SELECT route FROM found WHERE route IS NOT NULL`,
      )
      .toArray()
      .map(({ route }) => route);
  }

  /** The first verifications of a route, longest waiting first. */
  first(route: string, limit: number): readonly WaitingVerification[] {
    return this.#sql
      .exec<{ id: string; verify_at: number }>(
        "SELECT id, verify_at FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL AND route = ? ORDER BY verify_at LIMIT +?",
        route,
        limit,
      )
      .toArray()
      .map((row) => ({ id: recordId(row.id), at: readDue(row.verify_at) }));
  }

  /** Those of a route that a clock has put too far away that was ahead (kernel/record/life-cycle.ts). */
  tooFar(route: string, now: EpochMs): readonly RecordId[] {
    return this.#sql
      .exec<{ id: string }>(
        `SELECT id FROM (SELECT id, verify_at, lock_ms FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL AND route = ?1 AND verify_at > ?2 ORDER BY verify_at DESC LIMIT ${LAST_LOOKED_AT}) WHERE verify_at > ?2 + max(lock_ms, ?3)`,
        route,
        now,
        MAX_PAUSE_MS,
      )
      .toArray()
      .map(({ id }) => recordId(id));
  }
}
