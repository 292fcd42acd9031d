// When the lock of each attempt in flight ends. Kept in memory, because the alarm reads it each time and an index would cost
// every claim a row. This instance is the only writer, so it knows all locks once it has read the stored ones.

import type { IdempotencyRecord } from "../../core/record.ts";
import { type EpochMs, type RecordId, epochMs, recordId } from "../../core/units.ts";
import { IN_FLIGHT } from "./expiry-buckets.ts";
import type { Sql } from "./schema.ts";

export class LockEnds {
  readonly #sql: Sql;
  /** `null` until the first read, which also finds the locks written before it. */
  #ends: Map<RecordId, EpochMs> | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Notes a record that was written; `null` when it was erased. */
  note(id: RecordId, record: IdempotencyRecord | null): void {
    if (record?.state === "started") this.#ends?.set(id, record.attempt.lockedUntil);
    else this.#ends?.delete(id);
  }

  /** Looks at a record again at `until`: it could not be settled, and must not keep others from their turn. */
  putOff(id: RecordId, until: EpochMs): void {
    this.#all().set(id, until);
  }

  /** When the next lock ends; `null` when no record has a lock. */
  next(): EpochMs | null {
    let next: EpochMs | null = null;
    // Ten thousand entries take a tenth of a millisecond (measured), once for each alarm.
    for (const end of this.#all().values()) if (next === null || end < next) next = end;
    return next;
  }

  /** The records whose locks have ended, earliest end first. */
  ended(now: EpochMs, limit: number): readonly RecordId[] {
    const ended: { readonly id: RecordId; readonly end: EpochMs }[] = [];
    for (const [id, end] of this.#all()) if (end <= now) ended.push({ id, end });
    return ended
      .toSorted((one, other) => one.end - other.end)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  #all(): Map<RecordId, EpochMs> {
    this.#ends ??= new Map(
      this.#sql
        .exec<{ id: string; locked_until: number }>(
          "SELECT id, locked_until FROM records WHERE bucket = ? AND state = 'started'",
          IN_FLIGHT,
        )
        .toArray()
        .map((row) => [recordId(row.id), epochMs(row.locked_until)]),
    );
    return this.#ends;
  }
}

/** A record whose outcome the origin has to be asked about, and when. */
export interface WaitingQuestion {
  readonly id: RecordId;
  readonly at: EpochMs;
}

/** Reads an index that holds only these records, ordered by route first, so that many of one route never hide another route's. */
export class WaitingQuestions {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The routes that have waiting questions, in order. Costs one seek for each route. */
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

  /** The first questions of a route, longest waiting first. */
  first(route: string, limit: number): readonly WaitingQuestion[] {
    return this.#sql
      .exec<{ id: string; verify_at: number }>(
        "SELECT id, verify_at FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL AND route = ? ORDER BY verify_at LIMIT ?",
        route,
        limit,
      )
      .toArray()
      .map((row) => ({ id: recordId(row.id), at: epochMs(row.verify_at) }));
  }
}
