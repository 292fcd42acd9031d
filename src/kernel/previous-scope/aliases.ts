// Other names of records: those that they would have in older scopes. Deployments that still use such a scope find the record by
// them. An alias goes with its record. One name may be that of many records, one for each caller whom the older scope does not tell
// apart, so they are found by what they ask as well, and no look-up reads them all.

import { type Fingerprint, type RecordId, recordId } from "../record/units.ts";
import { makeAliasesTable, type LedgerSql } from "../store/schema.ts";

/** Finds the names of a record that is erased. */
const INDEX = "CREATE INDEX IF NOT EXISTS aliases_by_target ON aliases (target)";

/** The most records that one look-up returns. */
export const MAX_TARGETS = 8;

/** Some records that have a name as an alias. `isCut`: there are more. */
export interface AliasTargets {
  readonly ids: readonly RecordId[];
  readonly isCut: boolean;
}

const NONE: AliasTargets = { ids: [], isCut: false };

export class AliasRows {
  readonly #sql: LedgerSql;
  /** Whether there are any. Only this object writes them. */
  #exist: boolean;
  /** Whether this instance has seen to it that the table exists. */
  #isReady = false;

  /** `mayExist`: whether the table exists. */
  constructor(sql: LedgerSql, mayExist: boolean) {
    this.#sql = sql;
    this.#exist = mayExist && this.#any();
  }

  get exist(): boolean {
    return this.#exist;
  }

  /** The records that have this name as an alias; with a fingerprint, those of this request. */
  targets(name: RecordId, fingerprint: Fingerprint | null = null): AliasTargets {
    if (!this.#exist) return NONE;
    const [and, values] = fingerprint === null ? ["", [name]] : [" AND fingerprint = ?", [name, fingerprint]];
    const ids = this.#sql
      .exec<{ target: string }>(`SELECT target FROM aliases WHERE id = ?${and} LIMIT ${MAX_TARGETS + 1}`, ...values)
      .toArray()
      .map(({ target }) => recordId(target));
    return { ids: ids.slice(0, MAX_TARGETS), isCut: ids.length > MAX_TARGETS };
  }

  /** To be called in the transaction that writes the record. What is in memory changes only when that has succeeded. */
  add(names: readonly RecordId[], target: RecordId, fingerprint: Fingerprint): void {
    if (!this.#isReady) {
      makeAliasesTable(this.#sql);
      this.#sql.exec(INDEX);
    }
    for (const name of names) {
      this.#sql.exec(
        "INSERT OR IGNORE INTO aliases (id, fingerprint, target) VALUES (?, ?, ?)",
        name,
        fingerprint,
        target,
      );
    }
  }

  /** The transaction of `add` has succeeded. */
  added(): void {
    this.#isReady = true;
    this.#exist = true;
  }

  /** To be called when the record is erased. */
  erase(target: RecordId): void {
    if (this.#exist) this.#sql.exec("DELETE FROM aliases WHERE target = ?", target);
  }

  /** To be called after many have been erased: without aliases, a request costs nothing more. */
  recount(): void {
    this.#exist &&= this.#any();
  }

  #any(): boolean {
    return this.#sql.exec("SELECT 1 FROM aliases LIMIT 1").toArray().length > 0;
  }
}
