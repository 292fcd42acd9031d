// A failure of the store: a statement that SQLite refused, or a commit that failed. Only the store throws it, so that no other
// failure (a timer, a counter, a bug) is mistaken for it.

import type { LedgerSql } from "./schema.ts";

export class StoreError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "StoreError";
  }
}

/** The same database, but its statements throw a `StoreError`. */
export function storeSql(sql: LedgerSql): LedgerSql {
  return {
    exec: (query, ...values) => {
      try {
        return sql.exec(query, ...values);
      } catch (error) {
        throw new StoreError(error);
      }
    },
  };
}

/** The same wait for a commit, but it rejects with a `StoreError`. */
export function storeSync(sync: () => Promise<void>): () => Promise<void> {
  return () =>
    sync().catch((error: unknown) => {
      throw new StoreError(error);
    });
}
