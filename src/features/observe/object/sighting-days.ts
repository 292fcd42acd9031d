// What an object has counted of requests that have passed, by day: sums that stay when the rows of their keys are erased.

import type { DayCounts } from "../day-counts.ts";
import { DAY_MS, HOUR_MS } from "../../../kernel/config/units.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";

/** How many days the sums are kept, besides the current one. */
export const KEPT_DAYS = 7;

export const SIGHTING_DAYS_TABLE =
  "CREATE TABLE IF NOT EXISTS sighting_days (day INTEGER NOT NULL, route TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (day, route, name)) WITHOUT ROWID";

/** The row that has the hour of the last look for what has expired: an object that looks once an hour does not stay in memory. */
const LOOKED = "day = 0 AND route = '' AND name = 'looked'";

/** One number of one route and day. */
export interface DayCount {
  readonly day: number;
  readonly route: string;
  readonly name: string;
  readonly count: number;
}

export class SightingDays {
  readonly #tables: LaterTables;
  /** Also while the transaction that makes the table goes on. */
  #isMade = false;
  /** `undefined`: not read yet. */
  #lookedAt: number | null | undefined = undefined;

  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  get #exists(): boolean {
    return this.#isMade || this.#tables.has("sighting_days");
  }

  /** In a transaction. Whatever is added has to be looked for later. */
  add({ day, route, name, count }: DayCount, now: number): void {
    this.make(now);
    this.#tables.sql.exec(
      "INSERT INTO sighting_days (day, route, name, count) VALUES (?, ?, ?, ?) ON CONFLICT (day, route, name) DO UPDATE SET count = count + excluded.count",
      day,
      route,
      name,
      count,
    );
  }

  make(now: number): void {
    if (!this.#exists) this.#tables.sql.exec(SIGHTING_DAYS_TABLE);
    this.#isMade = true;
    if (this.#looked() === null) this.#setLooked(hourOf(now));
  }

  /** The sums of all days from `day` on, with these, which are not added yet. */
  sums(day: number, more: readonly DayCount[]): readonly DayCounts[] {
    if (!this.#exists) return [];
    const rows = this.#tables.sql
      .exec<{ day: number; route: string; name: string; count: number }>(
        "SELECT day, route, name, count FROM sighting_days WHERE day >= ? AND route <> ''",
        day,
      )
      .toArray();
    const sums = new Map<string, DayCounts & { counts: Record<string, number> }>();
    for (const { day: at, route, name, count } of [...rows, ...more.filter((one) => one.day >= day)]) {
      const place = `${at} ${route}`;
      const sum = sums.get(place) ?? { day: at, route, counts: {} };
      sum.counts[name] = (sum.counts[name] ?? 0) + count;
      sums.set(place, sum);
    }
    return [...sums.values()];
  }

  /** When the next look is due; `null`: there is nothing to look for. */
  nextLookAt(now: number): number | null {
    const looked = this.#looked();
    if (looked === null) return null;
    // A clock that was ahead has put it off.
    return looked > hourOf(now) ? now : (looked + 1) * HOUR_MS;
  }

  /** A look has seen all rows; `isEmpty`: none is left. In its transaction. */
  looked(now: number, isEmpty: boolean): void {
    const { sql } = this.#tables;
    sql.exec("DELETE FROM sighting_days WHERE route <> '' AND day < ?", Math.floor(now / DAY_MS) - KEPT_DAYS);
    const [row] = sql.exec<{ day: number }>("SELECT day FROM sighting_days WHERE route <> '' LIMIT 1").toArray();
    this.#setLooked(isEmpty && row === undefined ? null : hourOf(now));
  }

  #looked(): number | null {
    if (!this.#exists) return null;
    if (this.#lookedAt === undefined) {
      const [row] = this.#tables.sql
        .exec<{ count: number }>(`SELECT count FROM sighting_days WHERE ${LOOKED}`)
        .toArray();
      this.#lookedAt = row?.count ?? null;
    }
    return this.#lookedAt;
  }

  #setLooked(hour: number | null): void {
    const { sql } = this.#tables;
    if (hour === null) sql.exec(`DELETE FROM sighting_days WHERE ${LOOKED}`);
    else sql.exec("INSERT OR REPLACE INTO sighting_days (day, route, name, count) VALUES (0, '', 'looked', ?)", hour);
    this.#lookedAt = hour;
  }

  /** A transaction was undone. */
  forget(): void {
    // It may have been made in it, or before.
    const { sql } = this.#tables;
    this.#isMade = sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'sighting_days'").toArray().length > 0;
    this.#lookedAt = undefined;
  }
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}
