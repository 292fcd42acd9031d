// The events that are still to be relayed. They are inserted in the transaction that writes their record's result, and deleted once
// their destination has taken them, or an operator drops them. An object without events has no table for them.

import type { NewEvent } from "../../core/outbox.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../../core/units.ts";
import { makeOutboxTables, type Sql } from "./schema.ts";
import { readOrReport, readTime, readWhole, UnreadableError } from "./unreadable.ts";

/** Dead events are due at this plus the time of their death, so that they lie behind the others, oldest first. No clock comes so far. */
export const DEAD = 2 ** 52;

/** Where an event lies. Another may lie there later, so the event is named too. */
export interface EventPlace {
  readonly destination: string;
  readonly due: number;
  readonly seq: number;
  readonly id: string;
}

/** An event as it is stored. */
export interface StoredEvent extends EventPlace {
  readonly record: RecordId;
  /** How often it has been tried, without success. */
  readonly tries: number;
  /** When it was published, or sent again by an operator. */
  readonly since: EpochMs;
  /** Why the last try failed; `null` before that. */
  readonly last: string | null;
  /** The event as JSON. */
  readonly event: string;
}

/** A destination that has failed. */
export interface Rest {
  readonly until: EpochMs;
  /** How often it has failed in a row. */
  readonly failures: number;
  readonly reason: string;
}

/** What a move changes of an event; the rest stays. */
type Changed = Partial<Pick<StoredEvent, "tries" | "since" | "last">>;

const COLUMNS = "destination, due, seq, id, record, tries, since, last, event";
const AT_PLACE = "destination = ?1 AND due = ?2 AND seq = ?3 AND id = ?4";

/** A row as it is read: its numbers and texts have their types from the schema. */
type Row = Record<keyof StoredEvent, SqlStorageValue> & {
  readonly destination: string;
  readonly due: number;
  readonly seq: number;
  readonly id: string;
  readonly record: string;
  readonly tries: number;
  readonly since: number;
  readonly last: string | null;
  readonly event: string;
};

export class OutboxRows {
  readonly #sql: Sql;
  readonly #transaction: (run: () => void) => void;
  #exists: boolean;
  /** `null` until the first read. */
  #resting: Map<string, Rest> | null = null;

  constructor(sql: Sql, transaction: (run: () => void) => void, exists: boolean) {
    this.#sql = sql;
    this.#transaction = transaction;
    this.#exists = exists;
  }

  /** Whether the object may have events. */
  get exists(): boolean {
    return this.#exists;
  }

  /** To be called in the transaction that writes the result of `record`; after it, `added`. */
  insert(record: RecordId, events: readonly NewEvent[], now: EpochMs): void {
    if (!this.#exists && events.length > 0) makeOutboxTables(this.#sql);
    for (const { id, destination, event } of events) {
      this.#sql.exec(
        `INSERT INTO outbox (${COLUMNS}) SELECT ?1, ?2, ifnull(max(seq), 0) + 1, ?3, ?4, 0, ?2, NULL, ?5 FROM outbox WHERE destination = ?1 AND due = ?2`,
        destination,
        now,
        id,
        record,
        event,
      );
    }
  }

  /** The transaction of `insert` has succeeded. */
  added(): void {
    this.#exists = true;
  }

  /** The destinations of all events, dead ones included. Each is found by a search of its own, whatever the number of events. */
  destinations(): readonly string[] {
    const found: string[] = [];
    for (let last = ""; this.#exists;) {
      const [row] = this.#sql
        .exec<{ destination: string }>(
          "SELECT destination FROM outbox WHERE destination > ? ORDER BY destination LIMIT 1",
          last,
        )
        .toArray();
      if (row === undefined) break;
      last = row.destination;
      found.push(last);
    }
    return found;
  }

  /** When the first event of a destination is due; `null` when only dead ones are left. */
  firstDue(destination: string): EpochMs | null {
    return this.#first(destination, 0);
  }

  /** When the event died that has been dead for longest; `null`: none is dead. */
  firstDeath(destination: string): EpochMs | null {
    const due = this.#first(destination, DEAD);
    return due === null ? null : epochMs(due - DEAD);
  }

  #first(destination: string, from: number): EpochMs | null {
    if (!this.#exists) return null;
    const [row] = this.#sql
      .exec<{ due: number }>(
        "SELECT due FROM outbox WHERE destination = ?1 AND due >= ?2 AND due < ?3 ORDER BY due LIMIT 1",
        destination,
        from,
        from + DEAD,
      )
      .toArray();
    return row === undefined ? null : epochMs(row.due);
  }

  /** The first events that are due, at most so many, and no more bytes of them unless the first has more. */
  due(destination: string, now: EpochMs, most: { readonly events: number; readonly bytes: number }): StoredEvent[] {
    const taken: StoredEvent[] = [];
    if (!this.#exists) return taken;
    let bytes = 0;
    const unreadable: Row[] = [];
    // Read one by one: the size of the next one is not known before.
    const rows = this.#sql.exec<Row>(
      `SELECT ${COLUMNS} FROM outbox WHERE destination = ?1 AND due <= ?2 ORDER BY due, seq LIMIT ?3`,
      destination,
      now,
      most.events,
    );
    for (const row of rows) {
      const event = readOrReport(() => eventOf(row), { destination, event: row.id });
      if (event === null) {
        unreadable.push(row);
        continue;
      }
      // UTF-8 has at most three bytes for a UTF-16 code unit.
      bytes += 3 * event.event.length;
      if (taken.length > 0 && bytes > most.bytes) break;
      taken.push(event);
    }
    // They stay for an operator, and keep no other event from its turn.
    for (const row of unreadable) this.move(row, DEAD + now, { last: "the stored event cannot be read" });
    return taken;
  }

  /** Some of the events that are due and have been here since `since` or longer. Reads nothing of what they say. */
  dueSince(destination: string, now: EpochMs, since: EpochMs, most: number): readonly EventPlace[] {
    return this.#sql
      .exec<Pick<Row, keyof EventPlace | "since">>(
        "SELECT destination, due, seq, id, since FROM outbox WHERE destination = ?1 AND due <= ?2 ORDER BY due, seq LIMIT ?3",
        destination,
        now,
        most,
      )
      .toArray()
      .filter((row) => row.since <= since);
  }

  /** These have been taken by their destination, or dropped. */
  delete(places: readonly EventPlace[]): void {
    this.#transaction(() => {
      for (const { destination, due, seq, id } of places) {
        this.#sql.exec(`DELETE FROM outbox WHERE ${AT_PLACE}`, destination, due, seq, id);
      }
    });
  }

  /** Erases some of the events that had died by `until`. Returns how many. */
  eraseDead(destination: string, until: EpochMs, most: number): number {
    if (!this.#exists) return 0;
    return this.#sql.exec(
      "DELETE FROM outbox WHERE (destination, due, seq) IN (SELECT destination, due, seq FROM outbox WHERE destination = ?1 AND due >= ?2 AND due <= ?3 ORDER BY due LIMIT ?4)",
      destination,
      DEAD,
      DEAD + until,
      most,
    ).rowsWritten;
  }

  /** Moves an event to another time, with what has changed about it. One that an operator has moved or dropped meanwhile is left. */
  move({ destination, due: from, seq, id }: EventPlace, due: number, { tries, since, last }: Changed): void {
    // A row that moves costs one row written, as any update. Deleted and inserted, it would cost two.
    this.#sql.exec(
      `UPDATE outbox SET due = ?5, seq = (SELECT ifnull(max(seq), 0) + 1 FROM outbox WHERE destination = ?1 AND due = ?5), tries = ifnull(?6, tries), since = ifnull(?7, since), last = ifnull(?8, last) WHERE ${AT_PLACE}`,
      destination,
      from,
      seq,
      id,
      due,
      tries ?? null,
      since ?? null,
      last ?? null,
    );
  }

  /** The destinations that have failed, also those whose rest is over, until they take an event. */
  get resting(): ReadonlyMap<string, Rest> {
    return this.#knownRests();
  }

  rest(destination: string, { until, failures, reason }: Rest): void {
    this.#sql.exec("INSERT OR REPLACE INTO resting VALUES (?, ?, ?, ?)", destination, until, failures, reason);
    this.#knownRests().set(destination, { until, failures, reason });
  }

  /** The destination works, or an operator wants it to be tried now. */
  endRest(destination: string): void {
    if (!this.#knownRests().has(destination)) return;
    this.#sql.exec("DELETE FROM resting WHERE destination = ?", destination);
    this.#knownRests().delete(destination);
  }

  #knownRests(): Map<string, Rest> {
    this.#resting ??= this.#exists ? this.#readRests() : new Map<string, Rest>();
    return this.#resting;
  }

  #readRests(): Map<string, Rest> {
    const rows = this.#sql
      .exec<{ destination: string; until: number; failures: number; reason: string }>(
        "SELECT destination, until, failures, reason FROM resting",
      )
      .toArray();
    return new Map(
      rows.flatMap(({ destination, until, failures, reason }) => {
        // A rest that cannot be read is over: one call finds out whether the destination works.
        const rest = readOrReport(
          () => ({ until: readTime(until, "a rest"), failures: readWhole(failures, "a rest"), reason }),
          { destination },
        );
        return rest === null ? [] : [[destination, rest]];
      }),
    );
  }
}

function eventOf(row: Row): StoredEvent {
  if (!isEvent(row.event)) throw new UnreadableError("an event");
  const tries = readWhole(row.tries, "the tries of an event");
  return { ...row, tries, record: recordId(row.record), since: epochMs(readWhole(row.since, "an event")) };
}

/** Its first character is enough: a whole event may have 120 kB, and each is read again when it is sent. */
function isEvent(text: SqlStorageValue): boolean {
  return typeof text === "string" && text.startsWith("{");
}
