// Node's SQLite with the interface of a Durable Object's: cursors, and statements that are prepared once.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

/** The rows of a statement that has already run. Blobs are buffers, as on the platform. */
export interface Cursor extends Iterable<Record<string, unknown>> {
  toArray(): Record<string, unknown>[];
  one(): Record<string, unknown>;
  readonly rowsWritten: number;
}

export function cursor(found: Record<string, unknown>[], rowsWritten: number): Cursor {
  const rows = found.map(withBuffers);
  return {
    [Symbol.iterator]: () => rows[Symbol.iterator](),
    toArray: () => rows,
    one: () => {
      const [row] = rows;
      if (row === undefined || rows.length !== 1) throw new Error("expected exactly one row");
      return row;
    },
    rowsWritten,
  };
}

function withBuffers(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) if (value instanceof Uint8Array) row[name] = value.slice().buffer;
  return row;
}

/** Whether a statement only reads. */
export function isQuery(text: string): boolean {
  return /^(?:SELECT|WITH)/.test(text);
}

/** The platform accepts blobs as buffers. */
export function bound(values: readonly (ArrayBuffer | SQLInputValue)[]): SQLInputValue[] {
  return values.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value));
}

/** Some statements contain bucket names in their text, so there are many of them; the cache is bounded. */
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
