// What an object counted, by hours: a row each, as JSON. The table is made with the first of them.

import { makeHoursTable, type Sql } from "./schema.ts";

/** An hour since the epoch, and what was counted in it. */
export interface StoredHour {
  readonly hour: number;
  readonly counts: string;
}

/** How many hours are kept, the current one among them. */
export const KEPT_HOURS = 25;

export class HourRows {
  readonly #sql: Sql;
  #exists: boolean;

  constructor(sql: Sql, exists: boolean) {
    this.#sql = sql;
    this.#exists = exists;
  }

  get(hour: number): string | null {
    if (!this.#exists) return null;
    const [row] = this.#sql.exec<{ counts: string }>("SELECT counts FROM hours WHERE hour = ?", hour).toArray();
    return row?.counts ?? null;
  }

  /** Replaces the counts of an hour, and erases those that are too old. */
  put({ hour, counts }: StoredHour): void {
    if (!this.#exists) makeHoursTable(this.#sql);
    this.#exists = true;
    this.#sql.exec("INSERT OR REPLACE INTO hours (hour, counts) VALUES (?, ?)", hour, counts);
    this.#sql.exec("DELETE FROM hours WHERE hour <= ?", hour - KEPT_HOURS);
  }

  /** The oldest first. */
  since(hour: number): readonly StoredHour[] {
    if (!this.#exists) return [];
    return this.#sql
      .exec<{ hour: number; counts: string }>("SELECT hour, counts FROM hours WHERE hour >= ? ORDER BY hour", hour)
      .toArray();
  }
}
