// The events that are still to be relayed. They are inserted in the transaction that writes their record's result, and deleted once
// their destination has taken them, or an operator drops them. An object without events has no table for them.

import type { NewEvent } from "../../../kernel/record/outbox.ts";
import { type EpochMs, epochMs, type RecordId, recordId } from "../../../kernel/record/units.ts";
import { DEAD, OUTBOX_TABLES } from "./outbox-tables.ts";
import { RestRows } from "./rests.ts";
import type { LaterTables, LedgerSql } from "../../../kernel/store/schema.ts";
import { readOrReport, readWhole, UnreadableError } from "../../../kernel/store/unreadable.ts";

/** Where an event lies. Another may lie there later, so the event is named too. */
export interface EventRowLocation {
  readonly destination: string;
  /** Whose turn it takes (kernel/record/lanes.ts). */
  readonly lane: number;
  readonly due: number;
  readonly seq: number;
  readonly id: string;
}

/** An event as it is stored. */
export interface StoredEvent extends EventRowLocation {
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

/** What a destination has of a lane. */
export interface LaneEvents {
  readonly lane: number;
  /** When the first event is due; `null` when only dead ones are left. */
  readonly due: number | null;
  /** When the event died that has been dead for longest; `null`: none is dead. */
  readonly death: number | null;
}

/** For alerts: they name records by their ids. */
const NO_KEY = "";

/** What a move changes of an event; the rest stays. */
interface MovedEvent extends Partial<Pick<StoredEvent, "tries" | "since" | "last">> {
  /** When it is moved. */
  readonly at: EpochMs;
}

const COLUMNS = "destination, lane, due, seq, id, record, tries, since, last, event";
export const AT_LOCATION = "destination = ?1 AND lane = ?2 AND due = ?3 AND seq = ?4 AND id = ?5";

/** How many events of a lane are looked at for the one that has failed least, or for those that a wrong clock has put off. */
export const MOST_COMPARED = 1000;

/** A row as it is read: its numbers and texts have their types from the schema. */
type Row = Record<keyof StoredEvent, SqlStorageValue> & {
  readonly destination: string;
  readonly lane: number;
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
  readonly #sql: LedgerSql;
  readonly #tables: LaterTables;
  readonly rests: RestRows;

  constructor(tables: LaterTables) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.rests = new RestRows(tables.sql, () => this.exists);
  }

  /** Whether the object may have events. */
  get exists(): boolean {
    return this.#tables.has("outbox");
  }

  /** To be called in the transaction that writes the result of `record`; after it, `added`. `key`: as the record's own column has it. */
  insert(record: RecordId, events: readonly NewEvent[], now: EpochMs, key = NO_KEY): void {
    if (!this.exists && events.length > 0) for (const table of OUTBOX_TABLES) this.#sql.exec(table);
    for (const { id, destination, lane, event } of events) {
      this.#sql.exec(
        `INSERT INTO outbox (${COLUMNS}, key, set_at) SELECT ?1, ?2, ?3, ifnull(max(seq), 0) + 1, ?4, ?5, 0, ?3, NULL, ?6, ?7, ?3 FROM outbox WHERE destination = ?1 AND lane = ?2 AND due = ?3`,
        destination,
        lane,
        now,
        id,
        record,
        event,
        key,
      );
    }
  }

  /** The transaction of `insert` has succeeded. */
  added(): void {
    this.#tables.made("outbox");
  }

  /** The destinations of all events, dead ones included. Each is found by a search of its own, whatever the number of events. */
  destinations(): readonly string[] {
    const found: string[] = [];
    for (let last = ""; this.exists;) {
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

  /** The lanes of a destination's events, dead ones included. Costs one seek for each lane, of which there are few. */
  lanes(destination: string): readonly LaneEvents[] {
    if (!this.exists) return [];
    return this.#sql
      .exec<LaneEvents & Record<string, SqlStorageValue>>(
        `WITH RECURSIVE found(lane) AS (
           SELECT min(lane) FROM outbox WHERE destination = ?1
           UNION ALL SELECT (SELECT min(lane) FROM outbox WHERE destination = ?1 AND lane > found.lane) FROM found WHERE found.lane IS NOT NULL
         ) SELECT lane, (SELECT min(due) FROM outbox WHERE destination = ?1 AND lane = found.lane AND due < ?2) AS due, (SELECT min(due) FROM outbox WHERE destination = ?1 AND lane = found.lane AND due >= ?2) - ?2 AS death FROM found WHERE lane IS NOT NULL`,
        destination,
        DEAD,
      )
      .toArray();
  }

  /**
   * The first events of a lane that are due, at most so many, and no more bytes of them unless the first has more. One that was put off
   * has failed alone, and is given alone: others must not fail with it.
   */
  due(
    destination: string,
    lane: number,
    now: EpochMs,
    most: { readonly events: number; readonly bytes: number },
  ): StoredEvent[] {
    const taken: StoredEvent[] = [];
    if (!this.exists) return taken;
    let bytes = 0;
    const unreadable: Row[] = [];
    // Read one by one: the size of the next one is not known before.
    const rows = this.#sql.exec<Row>(
      `SELECT ${COLUMNS} FROM outbox WHERE destination = ?1 AND lane = ?2 AND due <= ?3 ORDER BY due, seq LIMIT +?4`,
      destination,
      lane,
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
      const wasPutOff = event.due > event.since;
      if (taken.length > 0 && (bytes > most.bytes || wasPutOff)) break;
      taken.push(event);
      if (wasPutOff) break;
    }
    // They stay for an operator, and keep no other event from its turn.
    for (const row of unreadable) this.move(row, DEAD + now, { at: now, last: "the stored event cannot be read" });
    return taken;
  }

  /** Of the first events of a lane that are due, the one that has failed least. */
  leastTried(destination: string, lane: number, now: EpochMs): StoredEvent[] {
    return this.#sql
      .exec<Row>(
        `SELECT ${COLUMNS} FROM outbox WHERE (destination, lane, due, seq) IN (SELECT ?1, ?2, due, seq FROM (SELECT due, seq, tries FROM outbox WHERE destination = ?1 AND lane = ?2 AND due <= ?3 ORDER BY due, seq LIMIT +?4) ORDER BY tries, due, seq LIMIT 1)`,
        destination,
        lane,
        now,
        MOST_COMPARED,
      )
      .toArray()
      .flatMap((row) => {
        const event = readOrReport(() => eventOf(row), { destination, event: row.id });
        if (event !== null) return [event];
        this.move(row, DEAD + now, { at: now, last: "the stored event cannot be read" });
        return [];
      });
  }

  /**
   * Some of the events of a lane that are due, have been here since `since` or longer, and have been tried. Reads nothing of what they
   * say.
   */
  triedSince(
    destination: string,
    lane: number,
    now: EpochMs,
    since: EpochMs,
    most: number,
  ): readonly EventRowLocation[] {
    return this.#sql
      .exec<Pick<Row, keyof EventRowLocation | "since" | "tries">>(
        "SELECT destination, lane, due, seq, id, since, tries FROM outbox WHERE destination = ?1 AND lane = ?2 AND due <= ?3 ORDER BY due, seq LIMIT +?4",
        destination,
        lane,
        now,
        most,
      )
      .toArray()
      .filter((row) => row.since <= since && row.tries > 0);
  }

  /** These have been taken by their destination, or dropped. */
  delete(places: readonly EventRowLocation[]): void {
    this.#tables.transaction(() => {
      for (const { destination, lane, due, seq, id } of places) {
        this.#sql.exec(`DELETE FROM outbox WHERE ${AT_LOCATION}`, destination, lane, due, seq, id);
      }
    });
  }

  /** Erases some of the events that had died by `until`. Returns how many. */
  eraseDead(destination: string, until: EpochMs, most: number): number {
    let erased = 0;
    for (const { lane, death } of this.lanes(destination)) {
      if (death === null || death > until) continue;
      erased += this.#sql.exec(
        "DELETE FROM outbox WHERE (destination, lane, due, seq) IN (SELECT destination, lane, due, seq FROM outbox WHERE destination = ?1 AND lane = ?2 AND due >= ?3 AND due <= ?4 ORDER BY due LIMIT +?5)",
        destination,
        lane,
        DEAD,
        DEAD + until,
        most - erased,
      ).rowsWritten;
    }
    return erased;
  }

  /** Moves an event to another time, with what has changed about it. One that an operator has moved or dropped meanwhile is left. */
  move(
    { destination, lane, due: from, seq, id }: EventRowLocation,
    due: number,
    { at, tries, since, last }: MovedEvent,
  ): void {
    // A row that moves costs one row written, as any update. Deleted and inserted, it would cost two.
    this.#sql.exec(
      `UPDATE outbox SET due = ?6, seq = (SELECT ifnull(max(seq), 0) + 1 FROM outbox WHERE destination = ?1 AND lane = ?2 AND due = ?6), set_at = ?7, tries = ifnull(?8, tries), since = ifnull(?9, since), last = ifnull(?10, last) WHERE ${AT_LOCATION}`,
      destination,
      lane,
      from,
      seq,
      id,
      due,
      at,
      tries ?? null,
      since ?? null,
      last ?? null,
    );
  }

  /** Each of these was sent once more, in vain, and stays where it is. */
  noteTries(places: readonly EventRowLocation[], reason: string): void {
    this.#tables.transaction(() => {
      for (const { destination, lane, due, seq, id } of places) {
        this.#sql.exec(
          `UPDATE outbox SET tries = tries + 1, last = ?6 WHERE ${AT_LOCATION}`,
          destination,
          lane,
          due,
          seq,
          id,
          reason,
        );
      }
    });
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
