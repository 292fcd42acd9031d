// What an object has counted: a row for each of the last hours with counts, and one for all earlier ones. The counts are JSON, which is not read here.
// The table is made with the first of them.

import type { LaterTables } from "./schema.ts";

/** What was counted in one hour, as JSON. */
export interface StoredHour {
  /** Since the epoch. */
  readonly hour: number;
  readonly routes: string;
  /** The batches that came last, also in earlier hours. */
  readonly taken: string;
  readonly replays: string;
}

/** How many hours are shown, the current one among them. */
export const SHOWN_HOURS = 25;

/**
 * How many rows are kept beside that of the current hour. More than are shown: a clock that is ahead or behind for a day takes none of the
 * last day's rows from their places.
 */
const KEPT_ROWS = 2 * SHOWN_HOURS;

/** The row of all hours before those. */
const BEFORE = -1;

/** One column of an hour's row. */
export interface StoredColumn {
  readonly hour: number;
  readonly text: string;
}

type ColumnRow = Record<"hour", number> & Record<"text", string>;

type Row = Record<"hour" | "since", number> & Record<"routes" | "taken" | "replays", string>;

/** What was counted. `since` is when the object began to count, the same in all rows. */
export const COUNTS_TABLE =
  "CREATE TABLE IF NOT EXISTS counts (hour INTEGER PRIMARY KEY, since INTEGER NOT NULL, routes TEXT NOT NULL, taken TEXT NOT NULL, replays TEXT NOT NULL)";

export class CountRows {
  readonly #tables: LaterTables;
  #since: number | null = null;

  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  get #exists(): boolean {
    return this.#tables.has("counts");
  }

  get(hour: number): StoredHour | null {
    if (!this.#exists) return null;
    const [row] = this.#tables.sql.exec<Row>("SELECT * FROM counts WHERE hour = ?", hour).toArray();
    return row ?? null;
  }

  /** Replaces the counts of an hour. */
  put({ hour, since, routes, taken, replays }: StoredHour & { readonly since: number }): void {
    if (!this.#exists) this.#tables.sql.exec(COUNTS_TABLE);
    this.#tables.sql.exec(
      "INSERT OR REPLACE INTO counts (hour, since, routes, taken, replays) VALUES (?, ?, ?, ?, ?)",
      hour,
      since,
      routes,
      taken,
      replays,
    );
    this.#tables.made("counts");
    this.#since = since;
  }

  /**
   * Adds the oldest hours to those before them, except `hour`. By their number: a clock that is ahead would make all of them old, and what
   * it has written would be new for as long as it was ahead.
   */
  mergeOldest(hour: number, addUp: (routes: readonly string[]) => string): void {
    const { since } = this;
    const [newest] = this.#tables.sql
      .exec<{ hour: number }>(
        "SELECT hour FROM counts WHERE hour > ? AND hour <> ? ORDER BY hour DESC LIMIT 1 OFFSET ?",
        BEFORE,
        hour,
        KEPT_ROWS,
      )
      .toArray();
    if (newest === undefined || since === null) return;
    const old = [BEFORE - 1, newest.hour, hour];
    const routes = addUp(this.#routesOf("hour > ? AND hour <= ? AND hour <> ?", ...old));
    // A part of it would count twice, or not at all.
    this.#tables.transaction(() => {
      this.#tables.sql.exec("DELETE FROM counts WHERE hour > ? AND hour <= ? AND hour <> ?", ...old);
      this.put({ hour: BEFORE, since, routes, taken: "[]", replays: "[]" });
    });
  }

  /** What was counted in each hour from this one on, the oldest first. Without the other columns, which can be long. */
  routesFrom(hour: number): readonly StoredColumn[] {
    if (!this.#exists) return [];
    const query = "SELECT hour, routes AS text FROM counts WHERE hour >= ? ORDER BY hour";
    return this.#tables.sql.exec<ColumnRow>(query, hour).toArray();
  }

  replaysFrom(hour: number): readonly StoredColumn[] {
    if (!this.#exists) return [];
    const query = "SELECT hour, replays AS text FROM counts WHERE hour >= ? ORDER BY hour";
    return this.#tables.sql.exec<ColumnRow>(query, hour).toArray();
  }

  /** The batches that came last until an hour, and those that a clock has put after it. The latest come last. */
  taken(hour: number): readonly string[] {
    if (!this.#exists) return [];
    const query =
      "SELECT taken FROM counts WHERE hour >= ifnull((SELECT max(hour) FROM counts WHERE hour <= ?), ?) ORDER BY hour DESC";
    return this.#tables.sql
      .exec<{ taken: string }>(query, hour, hour)
      .toArray()
      .map(({ taken }) => taken);
  }

  /** All that is stored, except of one hour. */
  routesBut(hour: number): readonly string[] {
    return this.#routesOf("hour <> ?", hour);
  }

  /** When the first count was stored; `null`: none is. An object whose database was lost begins anew. */
  get since(): number | null {
    if (this.#since === null && this.#exists) {
      const [row] = this.#tables.sql.exec<{ since: number }>("SELECT since FROM counts LIMIT 1").toArray();
      this.#since = row?.since ?? null;
    }
    return this.#since;
  }

  #routesOf(where: string, ...values: readonly number[]): readonly string[] {
    if (!this.#exists) return [];
    return this.#tables.sql
      .exec<{ routes: string }>(`SELECT routes FROM counts WHERE ${where}`, ...values)
      .toArray()
      .map(({ routes }) => routes);
  }
}
