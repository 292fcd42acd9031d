// When the lock of each attempt in flight ends. Kept in memory, since the alarm asks for it each time and every claim would
// pay for an index: the instance is the only one that writes them, so it knows them all once it has read those that it found.

import type { IdempotencyRecord } from "../../core/record.ts";
import { type EpochMs, type RecordId, epochMs, recordId } from "../../core/units.ts";
import { IN_FLIGHT } from "./expiry-buckets.ts";
import type { Sql } from "./schema.ts";

export class LockEnds {
  readonly #sql: Sql;
  /** `null` as long as nobody has asked: what is written until then is found with the rest. */
  #ends: Map<RecordId, EpochMs> | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** What is written of a record; `null` when it is erased. */
  note(id: RecordId, record: IdempotencyRecord | null): void {
    if (record?.state === "started") this.#ends?.set(id, record.attempt.lockedUntil);
    else this.#ends?.delete(id);
  }

  /** When the next lock ends; `null` when there is none. */
  next(): EpochMs | null {
    let next: EpochMs | null = null;
    // A walk of ten thousand takes a tenth of a millisecond (measured), and there is one for each alarm.
    for (const end of this.#all().values()) if (next === null || end < next) next = end;
    return next;
  }

  /** The records whose locks have ended, the one that ended first before all others. */
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

/**
 * The records whose outcome the origin is to be asked about, and when: by an index that holds them alone, first by
 * their route, so that many of one route hide none of another.
 */
export interface WaitingQuestion {
  readonly id: RecordId;
  readonly at: EpochMs;
}

export class WaitingQuestions {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The routes that have any, in their order: as many seeks as there are. */
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

  /** The first of a route, the one that has waited longest before all others. */
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
