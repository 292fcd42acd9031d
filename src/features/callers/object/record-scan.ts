// Goes through all records of a shard in the order of their numbers, a slice at a time: those in flight first, then by expiry. A
// record that is begun or moved meanwhile may be missed.

import { type RecordId, recordId } from "../../../kernel/record/units.ts";
import { type Label, LABEL_COLUMNS, type LabelRow, readLabel } from "../../../kernel/store/label.ts";
import {
  NUMBER,
  type Place,
  placeAfter,
  PLACE_COLUMNS,
  placeIn,
  type PlaceRow,
  WAITING,
} from "../../../kernel/store/record-numbers.ts";
import type { Sql } from "../../../kernel/store/schema.ts";

/** What says whose a record is. */
export interface ScannedRecord {
  readonly id: RecordId;
  readonly label: Label;
  readonly place: Place;
}

export interface ScanSlice {
  readonly records: readonly ScannedRecord[];
  /** Where the next slice begins; `null` at the end. */
  readonly next: Place | null;
}

export const FIRST_PLACE: Place = { expiryBucket: 0, slot: 0 };
/** Where those begin that wait for an attempt, the last of all. */
export const FIRST_WAITING: Place = { expiryBucket: WAITING, slot: 0 };

export class RecordScan {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  slice({ expiryBucket, slot }: Place, limit: number): ScanSlice {
    const rows = this.#sql
      .exec<PlaceRow & LabelRow>(
        `SELECT ${PLACE_COLUMNS}, id, ${LABEL_COLUMNS} FROM records WHERE number >= ${NUMBER} ORDER BY number LIMIT ?`,
        expiryBucket,
        slot,
        limit,
      )
      .toArray();
    const last = rows.length < limit ? undefined : rows.at(-1);
    return {
      records: rows.map((row) => ({ id: recordId(row.id), label: readLabel(row), place: placeIn(row) })),
      next: last === undefined ? null : placeAfter(placeIn(last)),
    };
  }
}
