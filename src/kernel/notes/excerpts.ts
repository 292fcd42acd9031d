// The beginnings of request bodies that routes keep for operators, for a time (`note.excerpt`). The table is made with the first of them.

import { readNote } from "../record/request-note.ts";
import { type EpochMs, epochMs, type RecordId } from "../record/units.ts";
import type { RecordLabel } from "../store/label.ts";
import type { LaterTables } from "../store/schema.ts";

/** The beginning of a request's body. */
export interface BodyExcerpt {
  /** Until when it is kept, in milliseconds since the epoch. */
  readonly until: number;
  readonly text: string;
}

/** How long after its time an excerpt may be erased, so that one alarm erases many. Nobody reads it any more by then. */
const TOGETHER_MS = 60_000;

/** What operators may read of bodies. */
export const EXCERPTS_TABLE =
  "CREATE TABLE IF NOT EXISTS excerpts (until INTEGER NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (until, id)) WITHOUT ROWID";

export class ExcerptReader {
  readonly #tables: LaterTables;

  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  get #exists(): boolean {
    return this.#tables.has("excerpts");
  }

  /** Within the transaction of the record's claim. The table exists only when that is committed: see `added`. */
  insert(id: RecordId, { until, text }: BodyExcerpt): void {
    if (!this.#exists) this.#tables.sql.exec(EXCERPTS_TABLE);
    this.#tables.sql.exec("INSERT OR REPLACE INTO excerpts (until, id, text) VALUES (?, ?, ?)", until, id, text);
  }

  added(): void {
    this.#tables.made("excerpts");
  }

  /** What a record keeps, by its label; `null`: nothing, or its time is over. */
  find(id: RecordId, label: RecordLabel, now: EpochMs): BodyExcerpt | null {
    const until = this.#exists ? untilIn(label) : null;
    if (until === null || until <= now) return null;
    const [row] = this.#tables.sql
      .exec<{ text: string }>("SELECT text FROM excerpts WHERE until = ? AND id = ?", until, id)
      .toArray();
    return row === undefined ? null : { until, text: row.text };
  }

  /** Erases what a record keeps, by its label. Within the transaction that changes the record. */
  erase(id: RecordId, label: () => RecordLabel): void {
    const until = this.#exists ? untilIn(label()) : null;
    if (until !== null) this.#tables.sql.exec("DELETE FROM excerpts WHERE until = ? AND id = ?", until, id);
  }

  /** Erases those whose time is over, about `limit` of them. */
  eraseSome(now: EpochMs, limit: number): void {
    if (!this.#exists) return;
    const [last] = this.#tables.sql
      .exec<{ until: number }>(
        "SELECT until FROM excerpts WHERE until <= ? ORDER BY until LIMIT 1 OFFSET ?",
        now,
        limit,
      )
      .toArray();
    this.#tables.sql.exec("DELETE FROM excerpts WHERE until <= ?", last?.until ?? now);
  }

  /** When the next ones are to be erased; `null` when there are none. */
  eraseAt(): EpochMs | null {
    if (!this.#exists) return null;
    const { first } = this.#tables.sql.exec<{ first: number | null }>("SELECT min(until) AS first FROM excerpts").one();
    return first === null ? null : epochMs(first + TOGETHER_MS);
  }
}

function untilIn({ note }: RecordLabel): number | null {
  return note === undefined ? null : readNote(note).excerptUntil;
}
