// Whose the events of the outbox are, for the day when a caller asks to be erased. Reads nothing of what they say.

import { type RecordId, recordId } from "../../../kernel/record/units.ts";
import { AT_PLACE, type EventPlace, type OutboxRows } from "./rows.ts";
import type { Sql } from "../../../kernel/store/schema.ts";

export interface OwnedEvent extends EventPlace {
  readonly record: RecordId;
  /** The key of its record, as the record's own column has it; empty: it is about no record, or about none that says its key. */
  readonly key: string;
}

interface OwnedRow {
  readonly [column: string]: SqlStorageValue;
  readonly destination: string;
  readonly lane: number;
  readonly due: number;
  readonly seq: number;
  readonly id: string;
  readonly record: string;
  readonly key: string;
}

export class OwnedEvents {
  readonly #sql: Sql;
  readonly #outbox: Pick<OutboxRows, "exists">;

  constructor(sql: Sql, outbox: Pick<OutboxRows, "exists">) {
    this.#sql = sql;
    this.#outbox = outbox;
  }

  /** The events that lie behind `after`, of all destinations, dead ones included. */
  slice(after: EventPlace | null, most: number): readonly OwnedEvent[] {
    if (!this.#outbox.exists) return [];
    const rows = this.#sql
      .exec<OwnedRow>(
        "SELECT destination, lane, due, seq, id, record, key FROM outbox WHERE (destination, lane, due, seq) > (?1, ?2, ?3, ?4) ORDER BY destination, lane, due, seq LIMIT ?5",
        after?.destination ?? "",
        after?.lane ?? 0,
        after?.due ?? 0,
        after?.seq ?? 0,
        most,
      )
      .toArray();
    return rows.map(({ destination, lane, due, seq, id, record, key }) => {
      return { destination, lane, due, seq, id, record: recordId(record), key };
    });
  }

  /** Erases these events, also one that has moved since it was found. Returns how many there still were. */
  erase(events: readonly OwnedEvent[]): number {
    const erased = events.filter(
      ({ destination, lane, due, seq, id, record }) =>
        this.#deletes(AT_PLACE, destination, lane, due, seq, id) ||
        this.#deletes("destination = ? AND id = ? AND record = ?", destination, id, record),
    );
    return erased.length;
  }

  #deletes(where: string, ...values: readonly (string | number)[]): boolean {
    return this.#sql.exec(`DELETE FROM outbox WHERE ${where}`, ...values).rowsWritten > 0;
  }
}
