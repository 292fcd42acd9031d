// A database that counts the rows which its statements read and write. Whoever is given it counts; others count nothing.

import type { LedgerSql } from "../../../src/kernel/store/schema.ts";

export interface Rows {
  readonly read: number;
  readonly written: number;
}

export interface CountedSql {
  readonly sql: LedgerSql;
  /** Since the last call. */
  readonly take: () => Rows;
}

export function countRows(counted: LedgerSql): CountedSql {
  // A cursor's rows are counted as they are read.
  const cursors: { readonly rowsRead: number; readonly rowsWritten: number }[] = [];
  return {
    sql: {
      exec<T extends Record<string, SqlStorageValue>>(
        query: string,
        ...bindings: SqlStorageValue[]
      ): SqlStorageCursor<T> {
        const cursor = counted.exec<T>(query, ...bindings);
        cursors.push(cursor);
        return cursor;
      },
    },
    take: () => {
      const taken = cursors.splice(0);
      return {
        read: taken.reduce((sum, { rowsRead }) => sum + rowsRead, 0),
        written: taken.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0),
      };
    },
  };
}
