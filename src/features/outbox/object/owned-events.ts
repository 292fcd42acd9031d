// The events of the outbox with the keys of their records, for the day when a caller asks to be erased. Reads nothing of what they say.

import type { RowOfRecord } from "../../../kernel/object-feature.ts";
import { recordId } from "../../../kernel/record/units.ts";
import { AT_LOCATION, type EventRowLocation, type OutboxRows } from "./rows.ts";
import type { LedgerSql } from "../../../kernel/store/schema.ts";

export interface OwnedEvent extends EventRowLocation, RowOfRecord {}

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
  readonly #sql: LedgerSql;
  readonly #outbox: Pick<OutboxRows, "exists">;

  constructor(sql: LedgerSql, outbox: Pick<OutboxRows, "exists">) {
    this.#sql = sql;
    this.#outbox = outbox;
  }

  /** The events that lie behind `after`, of all destinations, dead ones included. */
  slice(after: EventRowLocation | null, most: number): readonly OwnedEvent[] {
    if (!this.#outbox.exists) return [];
    const rows = this.#sql
      .exec<OwnedRow>(
        "SELECT destination, lane, due, seq, id, record, key FROM outbox WHERE (destination, lane, due, seq) > (?1, ?2, ?3, ?4) ORDER BY destination, lane, due, seq LIMIT +?5",
        after?.destination ?? "",
        after?.lane ?? 0,
        after?.due ?? 0,
        after?.seq ?? 0,
        most,
      )
      .toArray();
    return rows.map(({ destination, lane, due, seq, id, record, key }) => {
      const place = { destination, lane, due, seq, id };
      return Object.assign(place, { record: recordId(record), key, erase: () => this.#erase(place, record) });
    });
  }

  /** All of them. Each slice is read when it is wanted. */
  *slices(most: number): Generator<readonly OwnedEvent[]> {
    for (let after: OwnedEvent | undefined; ;) {
      const events: readonly OwnedEvent[] = this.slice(after ?? null, most);
      if (events.length > 0) yield events;
      after = events.at(-1);
      if (after === undefined || events.length < most) return;
    }
  }

  /** Erases an event, also one that has moved since it was found; whether it still existed. */
  #erase({ destination, lane, due, seq, id }: EventRowLocation, record: string): boolean {
    return (
      this.#deletes(AT_LOCATION, destination, lane, due, seq, id) ||
      this.#deletes("destination = ? AND id = ? AND record = ?", destination, id, record)
    );
  }

  #deletes(where: string, ...values: readonly (string | number)[]): boolean {
    return this.#sql.exec(`DELETE FROM outbox WHERE ${where}`, ...values).rowsWritten > 0;
  }
}
