// A shard's SQLite file as the ledger's storage, while no gateway has it open. It has exactly the members of a storage that the
// ledger uses, so only this file of the loader casts types.

import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { LedgerStorage } from "../../../../src/kernel/store/ledger.ts";
import { bound, type Cursor, cursor, isQuery, Statements } from "../../../support/sqlite.ts";

export class FileStorage {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;

  /** `isLikeObject`: with the small cache and the careful commits of a Durable Object. */
  constructor(file: string, { isLikeObject = false } = {}) {
    this.#database = new DatabaseSync(file);
    this.#statements = new Statements(this.#database);
    // Otherwise a killed process loses nothing; only a machine that stops would.
    const like = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2000";
    this.#database.exec(isLikeObject ? like : "PRAGMA synchronous = OFF; PRAGMA cache_size = -262144");
  }

  get ledgerStorage(): LedgerStorage {
    const storage: unknown = {
      sql: { exec: (query: string, ...values: (ArrayBuffer | SQLInputValue)[]) => this.#exec(query, values) },
      transactionSync: <T>(run: () => T): T => run(),
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return storage as LedgerStorage;
  }

  /** Runs `write` as one transaction. */
  transaction(write: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    write();
    this.#database.exec("COMMIT");
  }

  close(): void {
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#database.close();
  }

  #exec(query: string, values: readonly (ArrayBuffer | SQLInputValue)[]): Cursor {
    const statement = this.#statements.get(query);
    if (!isQuery(query)) return cursor([], Number(statement.run(...bound(values)).changes));
    const rows = statement.all(...bound(values));
    for (const row of rows) {
      // The platform returns blobs as buffers.
      for (const [name, value] of Object.entries(row)) {
        if (value instanceof Uint8Array) Object.assign(row, { [name]: new Uint8Array(value).buffer });
      }
    }
    return cursor(rows, 0);
  }
}
