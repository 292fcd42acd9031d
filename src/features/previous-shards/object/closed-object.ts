// Whether this object is closed: it inserts no record, whatever code runs, so a key without a record here begins in another layout. It is never opened
// again, and never names another layout. Its records live on until they expire.

import { jsonCall } from "../../../kernel/call.ts";
import type { Layout } from "../../../kernel/config/layout.ts";
import type { ObjectClosing } from "../../../kernel/elsewhere.ts";
import type { EpochMs } from "../../../kernel/record/units.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";
import { readTime } from "../../../kernel/store/unreadable.ts";

/** `next`: the layout in which keys begin from now on, as JSON. */
export const CLOSED_TABLE =
  "CREATE TABLE IF NOT EXISTS closed (one INTEGER PRIMARY KEY CHECK (one = 1), next TEXT NOT NULL, at INTEGER NOT NULL)";

/** Keeps even code that knows nothing of closing from claiming: its INSERT fails, so it sends nothing to the origin. UPDATE and DELETE go on. */
const TRIGGER = "CREATE TRIGGER closed_to_keys BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'closed'); END";

/** Closes the object for another layout, unless it is closed already. Answered with the layout for which it is closed, when that is durable. */
export const CLOSE_CALL = jsonCall<Layout, Layout>("close");

interface ClosedRow extends Record<string, SqlStorageValue> {
  readonly next: string;
  readonly at: number;
}

export class ClosedObject {
  readonly #tables: LaterTables;
  /** Read once: only this object writes it. */
  #closing: ObjectClosing | null;
  #isEmpty = false;

  constructor(tables: LaterTables) {
    this.#tables = tables;
    const [row] = tables.has("closed") ? tables.sql.exec<ClosedRow>("SELECT next, at FROM closed").toArray() : [];
    this.#closing =
      row === undefined ? null : { next: JSON.parse(row.next), at: readTime(row.at, "when this object was closed") };
  }

  /** `null`: it is open. */
  get closing(): ObjectClosing | null {
    return this.#closing;
  }

  /** Whether it is closed and has no record. Then it never has one. Reads one row at most until that is so. */
  get isEmpty(): boolean {
    if (this.#closing === null) return false;
    this.#isEmpty ||= this.#tables.sql.exec("SELECT 1 FROM records LIMIT 1").toArray().length === 0;
    return this.#isEmpty;
  }

  /** Closes it for `next`, unless it is closed already. Returns how it is closed. */
  close(next: Layout, now: EpochMs): ObjectClosing {
    if (this.#closing !== null) return this.#closing;
    const { sql, transaction } = this.#tables;
    transaction(() => {
      sql.exec(CLOSED_TABLE);
      sql.exec("INSERT INTO closed (one, next, at) VALUES (1, ?, ?)", JSON.stringify(next), now);
      sql.exec(TRIGGER);
    });
    this.#tables.made("closed");
    this.#closing = { next, at: now };
    return this.#closing;
  }
}
