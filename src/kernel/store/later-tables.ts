// The tables that an object makes with their first row, and who reads them: most objects never need them, and each table of a new object costs
// rows. A feature keeps its own here; what it holds is its own matter.

import type { Sql } from "./schema.ts";

export class LaterTables {
  readonly sql: Sql;
  /** A failing statement undoes only itself; a transaction also undoes the statements before it. */
  readonly transaction: (run: () => void) => void;
  readonly #names: Set<unknown>;

  /** Reads the names of all tables once. */
  constructor(sql: Sql, transaction: (run: () => void) => void) {
    this.sql = sql;
    this.transaction = transaction;
    const rows = sql.exec<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").toArray();
    this.#names = new Set(rows.map(({ name }) => name));
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** To be called after the transaction in which the table was made: one that fails takes the table with it. */
  made(name: string): void {
    this.#names.add(name);
  }
}
