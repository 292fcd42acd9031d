// What an object has counted: a row for each of the last hours, and one for all earlier ones. The counts are JSON, which is not read here.
// The table is made with the first of them.

import { makeCountsTable, type Sql } from "./schema.ts";

/** What was counted in one hour, as JSON. */
export interface StoredHour {
  /** Since the epoch. */
  readonly hour: number;
  readonly routes: string;
  /** The batches that came last, also in earlier hours. */
  readonly taken: string;
  readonly replays: string;
}

/** How many hours are kept apart, the current one among them. */
export const KEPT_HOURS = 25;

/** The row of all hours before those. */
const BEFORE = 0;

type Row = Record<"hour" | "since", number> & Record<"routes" | "taken" | "replays", string>;

export class CountRows {
  readonly #sql: Sql;
  readonly #transaction: (run: () => void) => void;
  #exists: boolean;
  #since: number | null = null;

  constructor(sql: Sql, transaction: (run: () => void) => void, exists: boolean) {
    this.#sql = sql;
    this.#transaction = transaction;
    this.#exists = exists;
  }

  get(hour: number): StoredHour | null {
    if (!this.#exists) return null;
    const [row] = this.#sql.exec<Row>("SELECT * FROM counts WHERE hour = ?", hour).toArray();
    return row ?? null;
  }

  /** Replaces the counts of an hour. */
  put({ hour, routes, taken, replays }: StoredHour): void {
    const since = this.since ?? Date.now();
    if (!this.#exists) makeCountsTable(this.#sql);
    this.#sql.exec(
      "INSERT OR REPLACE INTO counts (hour, since, routes, taken, replays) VALUES (?, ?, ?, ?, ?)",
      hour,
      since,
      routes,
      taken,
      replays,
    );
    this.#exists = true;
    this.#since = since;
  }

  /** Adds the hours that are too old to those before them. */
  mergeOld(hour: number, addUp: (routes: readonly string[]) => string): void {
    const old = this.#routesOf("hour > ? AND hour <= ?", BEFORE, hour - KEPT_HOURS);
    if (old.length === 0) return;
    const routes = addUp([...this.#routesOf("hour = ?", BEFORE), ...old]);
    // A part of it would count twice, or not at all.
    this.#transaction(() => {
      this.put({ hour: BEFORE, routes, taken: "[]", replays: "[]" });
      this.#sql.exec("DELETE FROM counts WHERE hour > ? AND hour <= ?", BEFORE, hour - KEPT_HOURS);
    });
  }

  /** Those from an hour on, the oldest first. */
  from(hour: number): readonly StoredHour[] {
    if (!this.#exists) return [];
    return this.#sql.exec<Row>("SELECT * FROM counts WHERE hour >= ? ORDER BY hour", hour).toArray();
  }

  /** The batches that came last; `null`: none has. */
  lastTaken(): string | null {
    if (!this.#exists) return null;
    const [row] = this.#sql.exec<{ taken: string }>("SELECT taken FROM counts ORDER BY hour DESC LIMIT 1").toArray();
    return row?.taken ?? null;
  }

  /** All that is stored, except of one hour. */
  routesBut(hour: number): readonly string[] {
    return this.#routesOf("hour <> ?", hour);
  }

  /** When the first count was stored; `null`: none is. An object whose database was lost begins anew. */
  get since(): number | null {
    if (this.#since === null && this.#exists) {
      const [row] = this.#sql.exec<{ since: number }>("SELECT since FROM counts LIMIT 1").toArray();
      this.#since = row?.since ?? null;
    }
    return this.#since;
  }

  #routesOf(where: string, ...values: readonly number[]): readonly string[] {
    if (!this.#exists) return [];
    return this.#sql
      .exec<{ routes: string }>(`SELECT routes FROM counts WHERE ${where}`, ...values)
      .toArray()
      .map(({ routes }) => routes);
  }
}
