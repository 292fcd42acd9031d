// What the object of a key knows of requests that have passed: one row for each key, and sums by day. Exchanges never read it: a key that was only
// observed is a new one.
//
// A key costs two rows in its life: it is written with its first request and erased when it would have expired. What its row counts for is added to the sums
// of its day only then, many keys at once; a repeat adds to them at once. Rows of keys that have expired are looked for once an hour, in slices in the
// order of their names: reading all of them costs less than an index.

import type { DayCounts } from "../day-counts.ts";
import type { KnownKey } from "../classify.ts";
import { KEY_HASH_DIGITS } from "../../../kernel/record/units.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** How many days the sums are kept, besides the current one. */
export const KEPT_DAYS = 7;

/** Rows that the alarm looks at in one turn. */
const LOOKED_AT_ONCE = 200;

const SIGHTINGS =
  "CREATE TABLE IF NOT EXISTS sightings (id TEXT PRIMARY KEY, route TEXT NOT NULL, day INTEGER NOT NULL, names TEXT NOT NULL, until INTEGER NOT NULL, fingerprint TEXT, began INTEGER NOT NULL, ended INTEGER NOT NULL, end TEXT NOT NULL, success INTEGER NOT NULL, body TEXT, effects TEXT) WITHOUT ROWID";
const DAYS =
  "CREATE TABLE IF NOT EXISTS sighting_days (day INTEGER NOT NULL, route TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (day, route, name)) WITHOUT ROWID";

interface Row extends Record<string, SqlStorageValue> {
  readonly id: string;
  readonly route: string;
  readonly day: number;
  readonly names: string;
  readonly until: number;
  readonly fingerprint: string | null;
  readonly began: number;
  readonly ended: number;
  readonly end: string;
  readonly success: number;
  readonly body: string | null;
  readonly effects: string | null;
}

/** A key's row. */
export interface SightedKey {
  readonly route: string;
  readonly day: number;
  /** What the row counts for, once. */
  readonly names: readonly string[];
  readonly until: number;
  readonly known: KnownKey;
}

export class SightingRows {
  readonly #tables: LaterTables;
  /** Sums that rows still count for, by day, route and names; read once by each instance that is asked. */
  #live: Map<string, number> | null = null;
  /** Where the look for expired rows goes on; `null`: none is under way. */
  #cursor: string | null = null;
  /** `undefined`: not read yet. */
  #lookedAt: number | null | undefined = undefined;

  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  get #exists(): boolean {
    return this.#tables.has("sightings");
  }

  /** `null`: the key is new, or would have expired. */
  get(id: string, now: number): SightedKey | null {
    if (!this.#exists) return null;
    const [row] = this.#tables.sql.exec<Row>("SELECT * FROM sightings WHERE id = ?", id).toArray();
    return row === undefined || row.until <= now ? null : readRow(row);
  }

  /** The same key and request of another caller; `null`: nobody else has sent it. */
  ofOther(id: string, fingerprint: string | null, now: number): KnownKey | null {
    if (!this.#exists || fingerprint === null) return null;
    const key = id.slice(0, KEY_HASH_DIGITS);
    const [row] = this.#tables.sql
      .exec<Row>(
        "SELECT * FROM sightings WHERE id > ? AND id < ? AND id <> ? AND fingerprint = ? AND until > ? LIMIT 1",
        key,
        `${key}~`,
        id,
        fingerprint,
        now,
      )
      .toArray();
    return row === undefined ? null : readRow(row).known;
  }

  /** A key's first request. A row of before has expired: what it counts for is added to the sums. In a transaction, as `update` and `add`. */
  insert(id: string, { route, day, names, until, known }: SightedKey, now: number): void {
    this.#make(now);
    const { sql } = this.#tables;
    this.#settle(sql.exec<Row>("SELECT * FROM sightings WHERE id = ?", id).toArray());
    sql.exec(
      "INSERT OR REPLACE INTO sightings (id, route, day, names, until, fingerprint, began, ended, end, success, body, effects) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      id,
      route,
      day,
      names.join(" "),
      until,
      ...columnsOf(known),
    );
    this.#count(day, route, names.join(" "), 1);
  }

  /** What is known of a key after a repeat. */
  update(id: string, known: KnownKey): void {
    this.#tables.sql.exec(
      "UPDATE sightings SET fingerprint = ?, began = ?, ended = ?, end = ?, success = ?, body = ?, effects = ? WHERE id = ?",
      ...columnsOf(known),
      id,
    );
  }

  /** Adds to the sums of a day. */
  add(day: number, route: string, name: string, count: number, now: number): void {
    this.#make(now);
    this.#add(day, route, name, count);
  }

  #add(day: number, route: string, name: string, count: number): void {
    this.#tables.sql.exec(
      "INSERT INTO sighting_days (day, route, name, count) VALUES (?, ?, ?, ?) ON CONFLICT (day, route, name) DO UPDATE SET count = count + excluded.count",
      day,
      route,
      name,
      count,
    );
  }

  /** The sums of all days from `day` on. */
  days(day: number): readonly DayCounts[] {
    if (!this.#exists) return [];
    const rows = this.#tables.sql
      .exec<{ day: number; route: string; name: string; count: number }>(
        "SELECT day, route, name, count FROM sighting_days WHERE day >= ? AND route <> ''",
        day,
      )
      .toArray();
    const live = [...this.#liveCounts()].flatMap(([place, count]) => {
      const one = readPlace(place);
      return one.day < day || count === 0 ? [] : one.names.map((name) => ({ day: one.day, route: one.route, name, count }));
    });
    const sums = new Map<string, DayCounts & { counts: Record<string, number> }>();
    for (const { day: at, route, name, count } of [...rows, ...live]) {
      const place = `${at} ${route}`;
      const sum = sums.get(place) ?? { day: at, route, counts: {} };
      sum.counts[name] = (sum.counts[name] ?? 0) + count;
      sums.set(place, sum);
    }
    return [...sums.values()];
  }

  /** When the next look for expired rows is due; `null`: there are neither rows nor sums. */
  nextAt(now: number): number | null {
    const looked = this.#looked();
    if (looked === null) return null;
    // A clock that was ahead put it off.
    return this.#cursor !== null || looked > hourOf(now) ? now : (looked + 1) * HOUR_MS;
  }

  /** Erases expired rows in a slice, and old sums at the end of all slices. */
  erase(now: number): void {
    const { sql, transaction } = this.#tables;
    const rows = sql
      .exec<Row>("SELECT * FROM sightings WHERE id > ? ORDER BY id LIMIT ?", this.#cursor ?? "", LOOKED_AT_ONCE)
      .toArray();
    // One that a clock that was ahead has written would stay for as long as it was ahead.
    const expired = rows.filter(({ until }) => until <= now || until > now + 2 * DAY_MS);
    const isLast = rows.length < LOOKED_AT_ONCE;
    try {
      transaction(() => {
        this.#settle(expired);
        for (const { id } of expired) sql.exec("DELETE FROM sightings WHERE id = ?", id);
        if (isLast) this.#endLook(now);
      });
    } catch (error) {
      this.forget();
      throw error;
    }
    this.#cursor = isLast ? null : (rows.at(-1)?.id ?? null);
  }

  /** The hour of the last look is a row, because an object that looks once an hour does not stay in memory. */
  #endLook(now: number): void {
    const { sql } = this.#tables;
    sql.exec("DELETE FROM sighting_days WHERE route <> '' AND day < ?", Math.floor(now / DAY_MS) - KEPT_DAYS);
    const { left } = sql
      .exec<{ left: number }>(
        "SELECT EXISTS (SELECT 1 FROM sightings) OR EXISTS (SELECT 1 FROM sighting_days WHERE route <> '') AS left",
      )
      .one();
    this.#setLooked(left === 0 ? null : hourOf(now));
  }

  /** The hour of the last look, or of the first row; `null`: there is nothing to look for. */
  #looked(): number | null {
    if (!this.#exists) return null;
    if (this.#lookedAt === undefined) {
      const [row] = this.#tables.sql
        .exec<{ count: number }>("SELECT count FROM sighting_days WHERE day = 0 AND route = '' AND name = 'looked'")
        .toArray();
      this.#lookedAt = row?.count ?? null;
    }
    return this.#lookedAt;
  }

  #setLooked(hour: number | null): void {
    const { sql } = this.#tables;
    if (hour === null) sql.exec("DELETE FROM sighting_days WHERE day = 0 AND route = '' AND name = 'looked'");
    else sql.exec("INSERT OR REPLACE INTO sighting_days (day, route, name, count) VALUES (0, '', 'looked', ?)", hour);
    this.#lookedAt = hour;
  }

  /** Adds what rows count for to the sums of their days: they are erased, or replaced. */
  #settle(rows: readonly Row[]): void {
    const sums = new Map<string, number>();
    for (const { day, route, names } of rows) {
      const place = writePlace(day, route, names);
      sums.set(place, (sums.get(place) ?? 0) + 1);
    }
    for (const [place, count] of sums) {
      const { day, route, names } = readPlace(place);
      for (const name of names) this.#add(day, route, name, count);
      this.#count(day, route, names.join(" "), -count);
    }
  }

  #count(day: number, route: string, names: string, by: number): void {
    if (this.#live === null || names === "") return;
    const place = writePlace(day, route, names);
    this.#live.set(place, (this.#live.get(place) ?? 0) + by);
  }

  #liveCounts(): ReadonlyMap<string, number> {
    this.#live ??= new Map(
      this.#tables.sql
        .exec<{ day: number; route: string; names: string; count: number }>(
          "SELECT day, route, names, count(*) AS count FROM sightings WHERE names <> '' GROUP BY day, route, names",
        )
        .toArray()
        .map(({ day, route, names, count }) => [writePlace(day, route, names), count]),
    );
    return this.#live;
  }

  #make(now: number): void {
    if (!this.#exists) for (const statement of [SIGHTINGS, DAYS]) this.#tables.sql.exec(statement);
    if (!this.#exists || this.#looked() === null) this.#setLooked(hourOf(now));
  }

  /** The transaction that has made the tables is over. */
  made(): void {
    this.#tables.made("sightings");
  }

  /** A transaction was undone. */
  forget(): void {
    this.#live = null;
    this.#lookedAt = undefined;
  }
}

function writePlace(day: number, route: string, names: string): string {
  return JSON.stringify([day, route, names]);
}

function readPlace(place: string): { readonly day: number; readonly route: string; readonly names: readonly string[] } {
  const [day, route, names]: readonly [number, string, string] = JSON.parse(place);
  return { day, route, names: names === "" ? [] : names.split(" ") };
}

function readRow({ route, day, names, until, fingerprint, began, ended, end, success, body, effects }: Row): SightedKey {
  const known = {
    fingerprint,
    beganAt: began,
    endedAt: ended,
    end: end === "result" || end === "refused" || end === "left" ? end : "ambiguous",
    hasSuccess: success === 1,
    body,
    effects: effects === null ? [] : effects.split(" "),
  } as const;
  return { route, day, names: names === "" ? [] : names.split(" "), until, known };
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}

function columnsOf({
  fingerprint,
  beganAt,
  endedAt,
  end,
  hasSuccess,
  body,
  effects,
}: KnownKey): readonly (string | number | null)[] {
  return [
    fingerprint,
    beganAt,
    endedAt,
    end,
    hasSuccess ? 1 : 0,
    body,
    effects.length === 0 ? null : effects.join(" "),
  ];
}
