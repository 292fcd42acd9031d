// Other names of records: those that they would have in older scopes. Deployments that still use such a scope find the record by
// them. An alias goes with its record. A name and its records belong to the same key, so they begin alike, and the aliases of a
// record are found by a range of names.

import { keyHashOf, type RecordId, recordId } from "../../core/units.ts";
import { makeTransitionTables, type Sql } from "./schema.ts";

/**
 * Keeps code that knows no aliases from claiming under a name whose record has another name: its INSERT fails, so it sends nothing
 * to the origin.
 */
const TRIGGER =
  "CREATE TRIGGER IF NOT EXISTS aliased BEFORE INSERT ON records WHEN EXISTS (SELECT 1 FROM aliases WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'aliased'); END";

export class Aliases {
  readonly #sql: Sql;
  /** Whether there are any. Only this object writes them. */
  #exist: boolean;
  /** Whether this instance has seen to it that the table and the trigger exist. */
  #isReady = false;

  /** `mayExist`: whether the tables for transitions exist. */
  constructor(sql: Sql, mayExist: boolean) {
    this.#sql = sql;
    this.#exist = mayExist && this.#any();
  }

  get exist(): boolean {
    return this.#exist;
  }

  /** The records that have this name as an alias. */
  targets(name: RecordId): readonly RecordId[] {
    if (!this.#exist) return [];
    return this.#sql
      .exec<{ target: string }>("SELECT target FROM aliases WHERE id = ?", name)
      .toArray()
      .map(({ target }) => recordId(target));
  }

  /** To be called in the transaction that writes the record. */
  add(names: readonly RecordId[], target: RecordId): void {
    for (const name of names) {
      if (name === target) continue;
      if (!this.#isReady) {
        makeTransitionTables(this.#sql);
        this.#sql.exec(TRIGGER);
      }
      this.#sql.exec("INSERT OR IGNORE INTO aliases (id, target) VALUES (?, ?)", name, target);
      this.#exist = true;
    }
  }

  /** The transaction of `add` has succeeded. */
  added(): void {
    this.#isReady = this.#exist;
  }

  /** To be called when the record is erased. */
  erase(target: RecordId): void {
    if (!this.#exist) return;
    const hash = keyHashOf(target);
    this.#sql.exec("DELETE FROM aliases WHERE id >= ? AND id < ? AND target = ?", hash, `${hash}~`, target);
  }

  /** To be called after many have been erased: without aliases, a request costs nothing more. */
  recount(): void {
    this.#exist &&= this.#any();
  }

  #any(): boolean {
    return this.#sql.exec("SELECT 1 FROM aliases LIMIT 1").toArray().length > 0;
  }
}
