// The disk of one object: a real SQLite in memory, with one transaction that is always open. A write is durable once it is
// committed; until then a crash undoes it. The alarm is part of the same commits, as it is on the platform.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { bound, type Cursor, cursor, isQuery, Statements } from "../support/sqlite.ts";

type Value = ArrayBuffer | string | number | null;

const LATER_TABLE = /^CREATE TABLE IF NOT EXISTS (outbox|resting|positions) /;

export class Disk {
  readonly #database = new DatabaseSync(":memory:");
  readonly #statements = new Statements(this.#database);
  /** How many writes there have been, and how many of them are durable. */
  written = 0;
  durable = 0;
  /** The alarm's time as the object sees it, and the durable one. */
  alarmMs: number | null = null;
  durableAlarmMs: number | null = null;
  /** Whether the next write finds the disk full. Only that statement fails. */
  isFull = false;
  /** When the last write was refused. */
  refusedAtMs = 0;
  /** How many writes have failed. */
  refusals = 0;

  readonly #hasTriggers: boolean;
  /** Whether anything has been written about closed objects. */
  #hasClosed = false;

  /** The tables that are made when they are needed. */
  readonly #later = new Set<string>();

  /** Without triggers it takes no notice of them, so that what they forbid has to be avoided by those who write. */
  constructor(hasTriggers = true) {
    this.#hasTriggers = hasTriggers;
    this.#database.exec("BEGIN");
  }

  exec(query: string, values: readonly Value[]): Cursor {
    if (!this.#hasTriggers && query.startsWith("CREATE TRIGGER")) return cursor([], 0);
    const made = LATER_TABLE.exec(query)?.[1];
    if (made !== undefined) this.#later.add(made);
    if (/^INSERT (INTO|OR IGNORE INTO) closed/.test(query)) this.#hasClosed = true;
    const statement = this.statement(query);
    if (isQuery(query)) return cursor(statement.all(...bound(values)), 0);
    if (this.isFull && (query.startsWith("INSERT") || query.startsWith("UPDATE"))) {
      this.isFull = false;
      // The clock may have gone back since the last one.
      this.refusedAtMs = Math.max(this.refusedAtMs, Date.now());
      this.refusals += 1;
      throw new Error("database or disk is full");
    }
    const { changes } = statement.run(...bound(values));
    if (changes !== 0) this.written += 1;
    return cursor([], Number(changes));
  }

  /** Undoes all statements of `run` if it throws. */
  transaction<T>(run: () => T): T {
    this.statement("SAVEPOINT all_or_nothing").run();
    try {
      return run();
    } catch (error) {
      this.statement("ROLLBACK TO all_or_nothing").run();
      throw error;
    } finally {
      this.statement("RELEASE all_or_nothing").run();
    }
  }

  setAlarm(ms: number | null): void {
    this.alarmMs = ms;
    this.written += 1;
  }

  /** The alarm's handler is done: the alarm is cleared, unless the handler has moved it. */
  endAlarm(scheduledMs: number): void {
    if (this.alarmMs === scheduledMs) this.setAlarm(null);
  }

  /** Whether a write has failed. Then the gateway may repeat more than otherwise. */
  get hasFailed(): boolean {
    return this.refusals > 0;
  }

  get isDirty(): boolean {
    return this.durable < this.written;
  }

  commit(): void {
    this.statement("COMMIT").run();
    this.statement("BEGIN").run();
    this.durable = this.written;
    this.durableAlarmMs = this.alarmMs;
  }

  /** Undoes what is not durable. */
  crash(): void {
    this.statement("ROLLBACK").run();
    this.statement("BEGIN").run();
    this.durable = this.written;
    this.alarmMs = this.durableAlarmMs;
    this.isFull = false;
  }

  /** Empties all tables. */
  clear(): void {
    this.crash();
    this.refusedAtMs = 0;
    for (const table of ["records", "chunks", "discarded", "remote"]) this.statement(`DELETE FROM ${table}`).run();
    this.#database.exec("DROP TABLE IF EXISTS reach");
    for (const table of this.#later) this.#database.exec(`DROP TABLE IF EXISTS ${table}`);
    this.#later.clear();
    this.#forgetClosed();
    this.setAlarm(null);
    this.commit();
    this.written = 0;
    this.durable = 0;
    this.refusals = 0;
  }

  /** As in a new object. */
  #forgetClosed(): void {
    if (!this.#hasClosed) return;
    this.#hasClosed = false;
    for (const table of ["closed", "closed_before"]) this.#database.exec(`DELETE FROM ${table}`);
    if (this.#hasTriggers) this.#database.exec("DROP TRIGGER IF EXISTS closed_to_keys");
  }

  /** Whether a table that is made when it is needed exists. */
  hasTable(name: string): boolean {
    if (!this.#later.has(name)) return false;
    return this.statement("SELECT 1 FROM sqlite_schema WHERE name = ?").all(name).length > 0;
  }

  /** A statement that the simulation itself runs. */
  statement(query: string): StatementSync {
    return this.#statements.get(query);
  }
}
