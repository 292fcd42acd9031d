// When the lock of each attempt in flight ends. Kept in memory, since the alarm asks for it each time and every claim would
// pay for an index: the instance is the only one that writes them, so it knows them all once it has read those that it found.

import type { IdempotencyRecord } from "../core/record.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../core/units.ts";
import { IN_FLIGHT } from "./buckets.ts";
import type { Sql } from "./migrations.ts";

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
