// A shard's SQLite file as the ledger's storage, while no gateway has it open. The only place in the loader where something
// is called what it is not: it has all that the ledger uses of a storage, and no more.

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { LedgerStorage } from "../../../../src/shard/ledger.ts";

interface Cursor {
  toArray(): Record<string, unknown>[];
  one(): Record<string, unknown>;
  readonly rowsWritten: number;
}

export class FileStorage {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    // A process that is killed loses nothing by this; only a machine that stops would.
    this.#database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144");
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
    const statement = this.#statement(query);
    const bound = values.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value));
    if (!/^(?:SELECT|WITH)/.test(query)) return cursor([], Number(statement.run(...bound).changes));
    const rows = statement.all(...bound);
    for (const row of rows) {
      // The platform gives blobs as buffers.
      for (const [name, value] of Object.entries(row)) {
        if (value instanceof Uint8Array) Object.assign(row, { [name]: new Uint8Array(value).buffer });
      }
    }
    return cursor(rows, 0);
  }

  #statement(query: string): StatementSync {
    const known = this.#statements.get(query);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }
}

function cursor(rows: Record<string, unknown>[], rowsWritten: number): Cursor {
  return {
    toArray: () => rows,
    one: () => {
      const [row] = rows;
      if (row === undefined || rows.length !== 1) throw new Error("expected exactly one row");
      return row;
    },
    rowsWritten,
  };
}
