// What the object that adds up knows of all others, as JSON in rows that the platform accepts. The table is made with the first of them.

import { makeTotalsTable, type LedgerSql } from "./schema.ts";

/** Characters of one row: at most three bytes each, and a row may have 2 MB (Durable Objects, "Limits"). */
const PART_LENGTH = 500_000;

export class TotalRows {
  readonly #sql: LedgerSql;

  constructor(sql: LedgerSql) {
    this.#sql = sql;
  }

  /** To be called once by each instance. */
  get(): string | null {
    if (this.#sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'totals'").toArray().length === 0) return null;
    const rows = this.#sql.exec<{ text: string }>("SELECT text FROM totals ORDER BY part").toArray();
    return rows.length === 0 ? null : rows.map(({ text }) => text).join("");
  }

  put(text: string): void {
    makeTotalsTable(this.#sql);
    const parts = Math.max(1, Math.ceil(text.length / PART_LENGTH));
    for (let part = 0; part < parts; part += 1) {
      const of = text.slice(part * PART_LENGTH, (part + 1) * PART_LENGTH);
      this.#sql.exec("INSERT OR REPLACE INTO totals (part, text) VALUES (?, ?)", part, of);
    }
    this.#sql.exec("DELETE FROM totals WHERE part >= ?", parts);
  }
}
