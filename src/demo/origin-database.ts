// What the demo's API remembers: every call that reached it, and which of them took effect. A file, so that it outlives the API's
// process, which the demo's page kills, and can be read meanwhile.

import { DatabaseSync } from "node:sqlite";

/** How long one process waits for the other's transaction. */
const BUSY_MS = 5_000;

export interface DemoCounters {
  readonly byRoute: Readonly<Record<string, number>>;
  readonly byKey: Readonly<Record<string, number>>;
}

export interface KeyCounters {
  readonly requests: number;
  readonly effects: number;
}

export class OriginDatabase {
  readonly #database: DatabaseSync;

  /** Creates the file if there is none. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_MS });
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, route TEXT NOT NULL, key TEXT NOT NULL, created TEXT) STRICT;
    `);
  }

  close(): void {
    this.#database.close();
  }

  /** A call that has reached the API. Returns its number. */
  arrived(route: string, key: string): number {
    return Number(
      this.#database.prepare("INSERT INTO calls (route, key) VALUES (?, ?)").run(route, key).lastInsertRowid,
    );
  }

  /** The call takes effect: `create` makes its result from the number of effects of its route. */
  act(call: number, route: string, create: (number: number) => object): object {
    const effects = this.#database.prepare("SELECT count(*) AS n FROM calls WHERE route = ? AND created IS NOT NULL");
    const created = create(Number(effects.get(route)?.["n"]) + 1);
    this.#database.prepare("UPDATE calls SET created = ? WHERE id = ?").run(JSON.stringify(created), call);
    return created;
  }

  /** Whether an earlier call of this route had the same key. */
  isRepeated(call: number, route: string, key: string): boolean {
    const earlier = this.#database.prepare("SELECT 1 FROM calls WHERE route = ? AND key = ? AND id < ?");
    return earlier.get(route, key, call) !== undefined;
  }

  /** All that was created on a route, oldest first. */
  created(route: string): readonly unknown[] {
    const rows = this.#database.prepare(
      "SELECT created FROM calls WHERE route = ? AND created IS NOT NULL ORDER BY id",
    );
    return rows.all(route).map(parsedRow);
  }

  /** What the key's request created on a route; `undefined` if nothing. */
  createdBy(route: string, key: string): unknown {
    const rows = this.#database.prepare(
      "SELECT created FROM calls WHERE route = ? AND key = ? AND created IS NOT NULL",
    );
    const row = rows.get(route, key);
    return row === undefined ? undefined : parsedRow(row);
  }

  get requests(): DemoCounters {
    return { byRoute: this.#counted("route", "id"), byKey: this.#counted("key", "id") };
  }

  get effects(): DemoCounters {
    return { byRoute: this.#counted("route", "created"), byKey: this.#counted("key", "created") };
  }

  /** Of all keys that begin with `prefix`. */
  countersOf(prefix: string): KeyCounters {
    const row = this.#database
      .prepare("SELECT count(*) AS requests, count(created) AS effects FROM calls WHERE substr(key, 1, ?) = ?")
      .get(prefix.length, prefix);
    return { requests: Number(row?.["requests"]), effects: Number(row?.["effects"]) };
  }

  #counted(by: "route" | "key", what: "id" | "created"): Readonly<Record<string, number>> {
    const rows = this.#database.prepare(
      `SELECT ${by} AS name, count(${what}) AS n FROM calls WHERE ${by} <> '' GROUP BY ${by} ORDER BY max(id)`,
    );
    const counts = rows.all().map(({ name, n }): [string, number] => [String(name), Number(n)]);
    return Object.fromEntries(counts.filter(([, n]) => n > 0));
  }
}

function parsedRow(row: Record<string, unknown>): unknown {
  return JSON.parse(String(row["created"]));
}
