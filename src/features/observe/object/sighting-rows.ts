// What the object of a key knows of requests that have passed: one row for each key, and sums by day. Exchanges never read it: a key that was only
// observed is a new one.
//
// A key costs two rows in its life: it is written with its first request and erased when it would have expired. What its row counts for is added to the sums
// of its day only then, many keys at once; a repeat adds to them at once. Rows of keys that have expired are looked for once an hour, in slices in the
// order of their names: reading all of them costs less than an index.

import type { KnownKey } from "../classify.ts";
import type { DayCounts } from "../day-counts.ts";
import { KEY_HASH_DIGITS } from "../../../kernel/record/units.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";
import { DAY_MS } from "../../../kernel/config/units.ts";
import { type DayCount, SightingDays } from "./sighting-days.ts";

/** Rows that the alarm looks at in one turn. */
const LOOKED_AT_ONCE = 200;

/** Other callers with the same key that are compared: a key that many share is no sign of a caller whose token has changed. */
const OTHERS = 20;

/** Of a key, by whoever sent it. A bound limit would have SQLite prepare the statement anew for each request (measured). */
const ROWS_OF_KEY = `SELECT * FROM sightings WHERE id > ? AND id < ? LIMIT ${OTHERS}`;

/** `names`: what the row counts for, once. `known`: what is known of the key, as JSON. */
export const SIGHTINGS_TABLE =
  "CREATE TABLE IF NOT EXISTS sightings (id TEXT PRIMARY KEY, until INTEGER NOT NULL, day INTEGER NOT NULL, route TEXT NOT NULL, names TEXT NOT NULL, known TEXT NOT NULL) WITHOUT ROWID";

export interface SightingRow extends Record<string, SqlStorageValue> {
  readonly id: string;
  readonly until: number;
  readonly day: number;
  readonly route: string;
  readonly names: string;
  readonly known: string;
}

export interface FoundSightings {
  /** `null`: the key is new for its caller, or would have expired. */
  readonly known: KnownKey | null;
  readonly expired: SightingRow | null;
  /** The same request of another caller; `null`: nobody else has sent it. */
  readonly elsewhere: (fingerprint: string) => KnownKey | null;
}

const NOTHING_FOUND: FoundSightings = { known: null, expired: null, elsewhere: () => null };

/** A key's first request. */
export interface FirstSighting {
  readonly id: string;
  readonly route: string;
  readonly day: number;
  /** What it counts for. */
  readonly names: readonly string[];
  readonly until: number;
  readonly known: KnownKey;
}

export class SightingRows {
  readonly #tables: LaterTables;
  readonly #days: SightingDays;
  /** How many rows there are of each day, route and names, as JSON; read once by each instance that is asked. */
  #live: Map<string, number> | null = null;
  /** Also while the transaction that makes the table goes on. */
  #isMade = false;
  /** Where the look for expired rows goes on; `null`: none is under way. */
  #cursor: string | null = null;

  constructor(tables: LaterTables) {
    this.#tables = tables;
    this.#days = new SightingDays(tables);
  }

  get #exists(): boolean {
    return this.#isMade || this.#tables.has("sightings");
  }

  /** What is known of a key: by this caller, and by others that have sent it. In one query, because it is asked for each request. */
  find(id: string, now: number): FoundSightings {
    if (!this.#exists) return NOTHING_FOUND;
    const key = id.slice(0, KEY_HASH_DIGITS);
    const rows = this.#tables.sql.exec<SightingRow>(ROWS_OF_KEY, key, `${key}~`).toArray();
    if (rows.length === 0) return NOTHING_FOUND;
    const own = rows.length === OTHERS ? this.#row(id) : (rows.find((row) => row.id === id) ?? null);
    const others = rows.filter((row) => row.id !== id && row.until > now);
    return {
      known: own === null || own.until <= now ? null : readKnown(own),
      expired: own !== null && own.until <= now ? own : null,
      elsewhere: (fingerprint) => others.map(readKnown).find((one) => one.fingerprint === fingerprint) ?? null,
    };
  }

  /** `expired`: the key's row of before, whose counts are added to the sums. In a transaction, like `update` and `add`. */
  insert({ id, until, day, route, names, known }: FirstSighting, expired: SightingRow | null, now: number): void {
    this.#days.make(now);
    const { sql } = this.#tables;
    if (!this.#exists) sql.exec(SIGHTINGS_TABLE);
    this.#isMade = true;
    if (expired !== null) this.#settle([expired], now);
    sql.exec(
      "INSERT OR REPLACE INTO sightings (id, until, day, route, names, known) VALUES (?, ?, ?, ?, ?, ?)",
      id,
      until,
      day,
      route,
      names.join(" "),
      JSON.stringify(known),
    );
    this.#count(writePlace(day, route, names.join(" ")), 1);
  }

  /** What is known of a key after a repeat. */
  update(id: string, known: KnownKey): void {
    this.#tables.sql.exec("UPDATE sightings SET known = ? WHERE id = ?", JSON.stringify(known), id);
  }

  /** Adds to the sums of a day. */
  add(count: DayCount, now: number): void {
    this.#days.add(count, now);
  }

  /** The sums of all days from `day` on. */
  days(day: number): readonly DayCounts[] {
    return this.#days.sums(
      day,
      [...this.#liveCounts()].flatMap(([place, count]) => (count === 0 ? [] : countsAt(place, count))),
    );
  }

  /** When the next look for expired rows is due; `null`: there are neither rows nor sums. */
  nextAt(now: number): number | null {
    return this.#cursor === null ? this.#days.nextLookAt(now) : now;
  }

  /** Erases expired rows in a slice, and old sums at the end of all slices. */
  erase(now: number): void {
    const { sql, transaction } = this.#tables;
    const from = this.#cursor ?? "";
    const rows = this.#exists
      ? sql
          .exec<SightingRow>("SELECT * FROM sightings WHERE id > ? ORDER BY id LIMIT +?", from, LOOKED_AT_ONCE)
          .toArray()
      : [];
    // One that a clock that was ahead has written would stay for as long as it was ahead.
    const expired = rows.filter(({ until }) => until <= now || until > now + 2 * DAY_MS);
    const isLast = rows.length < LOOKED_AT_ONCE;
    try {
      transaction(() => {
        this.#settle(expired, now);
        for (const { id } of expired) sql.exec("DELETE FROM sightings WHERE id = ?", id);
        if (isLast) this.#days.looked(now, this.#isEmpty());
      });
    } catch (error) {
      this.forget();
      throw error;
    }
    this.#cursor = isLast ? null : (rows.at(-1)?.id ?? null);
  }

  #isEmpty(): boolean {
    return !this.#exists || this.#tables.sql.exec("SELECT 1 FROM sightings LIMIT 1").toArray().length === 0;
  }

  #row(id: string): SightingRow | null {
    if (!this.#exists) return null;
    return this.#tables.sql.exec<SightingRow>("SELECT * FROM sightings WHERE id = ?", id).toArray()[0] ?? null;
  }

  /** Adds what rows count for to the sums of their days: they are erased, or replaced. */
  #settle(rows: readonly SightingRow[], now: number): void {
    for (const [place, same] of Map.groupBy(rows, ({ day, route, names }) => writePlace(day, route, names))) {
      for (const count of countsAt(place, same.length)) this.#days.add(count, now);
      this.#count(place, -same.length);
    }
  }

  #count(place: string, by: number): void {
    this.#live?.set(place, (this.#live.get(place) ?? 0) + by);
  }

  #liveCounts(): ReadonlyMap<string, number> {
    if (!this.#exists) return new Map();
    this.#live ??= new Map(
      this.#tables.sql
        .exec<{ day: number; route: string; names: string; count: number }>(
          "SELECT day, route, names, count(*) AS count FROM sightings GROUP BY day, route, names",
        )
        .toArray()
        .map(({ day, route, names, count }) => [writePlace(day, route, names), count]),
    );
    return this.#live;
  }

  /** A transaction was undone. */
  forget(): void {
    // It may have been made in it, or before.
    const { sql } = this.#tables;
    this.#isMade = sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'sightings'").toArray().length > 0;
    this.#live = null;
    this.#days.forget();
  }
}

function writePlace(day: number, route: string, names: string): string {
  return JSON.stringify([day, route, names]);
}

/** One for each of the names. */
function countsAt(place: string, count: number): readonly DayCount[] {
  const [day, route, names]: readonly [number, string, string] = JSON.parse(place);
  return names.split(" ").map((name) => ({ day, route, name, count }));
}

function readKnown({ known }: SightingRow): KnownKey {
  return JSON.parse(known);
}
