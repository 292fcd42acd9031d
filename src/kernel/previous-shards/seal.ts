// The seal: nothing new begins in a sealed object, and what it lacks begins in another layout. So the absence of a record is
// stable: records only ever leave. A seal never opens again and never names another layout.

import type { EpochMs } from "../record/units.ts";
import { makeTransitionTables, type Sql } from "../store/schema.ts";
import { readTime } from "../store/unreadable.ts";

/**
 * Keeps even code that knows no seal from claiming: its INSERT fails, so it sends nothing to the origin. UPDATE and DELETE of older
 * records go on. An upsert of a record that exists would fail too, so none
 * must be used.
 */
const TRIGGER = "CREATE TRIGGER sealed BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'sealed'); END";

export class Seal {
  readonly #sql: Sql;
  readonly #transaction: (run: () => void) => void;
  /** Read once: only this object writes it. */
  #next: string | null;
  #at: EpochMs | null;

  /** `mayExist`: whether the tables for transitions exist. */
  constructor(sql: Sql, transaction: (run: () => void) => void, mayExist: boolean) {
    this.#sql = sql;
    this.#transaction = transaction;
    const [row] = mayExist ? sql.exec<{ next: string; at: number }>("SELECT next, at FROM seal").toArray() : [];
    this.#next = row?.next ?? null;
    this.#at = row === undefined ? null : readTime(row.at, "when this object was closed");
  }

  /** The layout in which new keys begin, as JSON; `null`: in this one. */
  get next(): string | null {
    return this.#next;
  }

  /** When it was sealed. */
  get at(): EpochMs | null {
    return this.#at;
  }

  /** Seals the object for `next`, unless it is sealed already. Returns the layout for which it is sealed. */
  close(next: string, now: EpochMs): string {
    if (this.#next !== null) return this.#next;
    this.#transaction(() => {
      makeTransitionTables(this.#sql);
      this.#sql.exec("INSERT INTO seal (one, next, at) VALUES (1, ?, ?)", next, now);
      this.#sql.exec(TRIGGER);
    });
    this.#next = next;
    this.#at = now;
    return next;
  }
}
