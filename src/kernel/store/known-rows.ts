// What an object knows of others, as JSON in rows that the platform accepts. The table is made with the first of them.

import { KNOWN_TABLES, type KnownTable, type LedgerSql } from "./schema.ts";

/** Characters of one row: at most three bytes each, and a row may have 2 MB (Durable Objects, "Limits"). */
const PART_LENGTH = 500_000;

export class KnownRows {
  readonly #sql: LedgerSql;
  readonly #table: KnownTable;

  constructor(sql: LedgerSql, table: KnownTable) {
    this.#sql = sql;
    this.#table = table;
  }

  /** To be called once by each instance. */
  get(): string | null {
    const table = this.#table;
    if (this.#sql.exec(`SELECT 1 FROM sqlite_schema WHERE name = '${table}'`).toArray().length === 0) return null;
    const rows = this.#sql.exec<{ text: string }>(`SELECT text FROM ${table} ORDER BY part`).toArray();
    return rows.length === 0 ? null : rows.map(({ text }) => text).join("");
  }

  /** `text` is JSON, so it is never empty. */
  put(text: string): void {
    const table = this.#table;
    this.#sql.exec(KNOWN_TABLES[table]);
    const parts = Math.ceil(text.length / PART_LENGTH);
    for (let part = 0; part < parts; part += 1) {
      const of = text.slice(part * PART_LENGTH, (part + 1) * PART_LENGTH);
      this.#sql.exec(`INSERT OR REPLACE INTO ${table} (part, text) VALUES (?, ?)`, part, of);
    }
    this.#sql.exec(`DELETE FROM ${table} WHERE part >= ?`, parts);
  }
}
