// The SQLite file of the only shard of a gateway with `shards = 1`, opened beside the running gateway: to make its storage
// really fail, and to read what is stored without a request. The object has to have been used once.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";

/** Where workerd keeps the objects of the class, as test/support/workerd-config.ts names them. */
const OBJECTS = "onceway-KeyShard";

export function shardFile({ stateDir }: Pick<Gateway, "stateDir">): string {
  const all = shardFiles({ stateDir });
  // Beside it may be the object that adds up all counts, which has no records.
  const files = all.length === 1 ? all : all.filter((file) => rowsIn(file, "1", "records", "true").length > 0);
  const [file] = files;
  if (file === undefined || files.length > 1) throw new Error(`one shard expected, found ${files.length}`);
  return file;
}

/** Of all objects that have been used: the shards, and the one that adds up all counts. */
export function shardFiles({ stateDir }: Pick<Gateway, "stateDir">): readonly string[] {
  const folder = join(stateDir, OBJECTS);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sqlite") && name !== "metadata.sqlite")
    .map((name) => join(folder, name));
}

export type Row = Readonly<Record<string, unknown>>;

/** Nothing, where the object has no such table yet. */
export function rowsIn(file: string, columns: string, table: string, where: string): readonly Row[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const found = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").all(table);
    return found.length === 0 ? [] : database.prepare(`SELECT ${columns} FROM ${table} WHERE ${where}`).all();
  } finally {
    database.close();
  }
}

/** What the only shard stores of a key. */
export function rowsOf(gateway: Pick<Gateway, "stateDir">, key: string): readonly Row[] {
  const database = new DatabaseSync(shardFile(gateway), { timeout: 5_000, readOnly: true });
  try {
    return database.prepare("SELECT state, kept, headers, body, history FROM records WHERE key = ?").all(key);
  } finally {
    database.close();
  }
}

export interface ShardDatabase {
  /** Locks the file for all other writers, until `unlock`. */
  lock(): void;
  unlock(): void;
  /** From now on no commit succeeds that inserts a record, or brings one into `state`; until `allowCommits`. */
  failCommits(state: "started" | "completed"): void;
  allowCommits(): void;
  /** From now on no statement succeeds that stores a response's body; until `allowBodies`. */
  refuseBodies(): void;
  allowBodies(): void;
  /** From now on no address of an origin can be noted. */
  refuseAddresses(): void;
  countRecords(): number;
  /** The addresses that it knows it can connect to. */
  countAddresses(): number;
  /** When the last of all locks ends, in milliseconds since the epoch. */
  lastLockEnd(): number;
  close(): void;
}

export function openShardDatabase(gateway: Pick<Gateway, "stateDir">): ShardDatabase {
  const database = new DatabaseSync(shardFile(gateway), { timeout: 5_000 });
  return {
    lock: () => database.exec("BEGIN IMMEDIATE"),
    unlock: () => database.exec("ROLLBACK"),
    // A violated foreign key that is checked only at the commit: every statement succeeds, and then nothing is written.
    failCommits: (state) =>
      database.exec(`
        BEGIN IMMEDIATE;
        CREATE TABLE none (id INTEGER PRIMARY KEY);
        CREATE TABLE broken (none INTEGER REFERENCES none (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER fail_insert AFTER INSERT ON records WHEN NEW.state = '${state}' BEGIN
          INSERT INTO broken VALUES (1);
        END;
        CREATE TRIGGER fail_update AFTER UPDATE ON records WHEN NEW.state = '${state}' BEGIN
          INSERT INTO broken VALUES (1);
        END;
        COMMIT;`),
    allowCommits: () =>
      database.exec(`
        BEGIN IMMEDIATE;
        DROP TRIGGER fail_insert;
        DROP TRIGGER fail_update;
        DROP TABLE broken;
        DROP TABLE none;
        COMMIT;`),
    refuseBodies: () =>
      database.exec(`CREATE TRIGGER refuse_bodies BEFORE UPDATE ON records WHEN NEW.kept = 1 BEGIN
        SELECT RAISE(FAIL, 'no room');
      END`),
    refuseAddresses: () =>
      database.exec(
        "CREATE TRIGGER refuse_addresses BEFORE INSERT ON addresses BEGIN SELECT RAISE(FAIL, 'no room'); END",
      ),
    allowBodies: () => database.exec("DROP TRIGGER refuse_bodies"),
    countRecords: () => Number(database.prepare("SELECT count(*) AS n FROM records").get()?.["n"]),
    countAddresses: () => Number(database.prepare("SELECT count(*) AS n FROM addresses").get()?.["n"]),
    lastLockEnd: () => Number(database.prepare("SELECT max(locked_until) AS at FROM records").get()?.["at"]),
    close: () => database.close(),
  };
}
