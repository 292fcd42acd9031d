// Node's SQLite in the shape of an object's: what a statement gives, and statements that are prepared once.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

/** The rows of one statement, which has already run. */
export interface Cursor {
  toArray(): Record<string, unknown>[];
  one(): Record<string, unknown>;
  readonly rowsWritten: number;
}

export function cursor(rows: Record<string, unknown>[], rowsWritten: number): Cursor {
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

/** Whether a statement gives rows, and changes none. */
export function isQuery(text: string): boolean {
  return /^(?:SELECT|WITH)/.test(text);
}

/** The platform takes blobs as buffers. */
export function bound(values: readonly (ArrayBuffer | SQLInputValue)[]): SQLInputValue[] {
  return values.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value));
}

/** Names of buckets stand in the text of some statements, so there are many; more than these are not worth their memory. */
const STATEMENTS_KEPT = 3000;

export class Statements {
  readonly #database: DatabaseSync;
  readonly #known = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get(text: string): StatementSync {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size > STATEMENTS_KEPT) this.#known.clear();
    const statement = this.#database.prepare(text);
    this.#known.set(text, statement);
    return statement;
  }
}
