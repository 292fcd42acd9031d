// A record as the ledger finds it, with what belongs to it.

import type { IdempotencyRecord } from "../record/record.ts";
import type { TimelineEvent } from "../record/timeline.ts";
import { type BodyNumber, bodyNumber, type RecordId, recordId } from "../record/units.ts";
import { type RowLocation, rowLocationOf, recordsIn } from "./record-numbers.ts";
import { FOUND_COLUMNS, type FoundRow, readHistory, readKeyForm, readRecord } from "./record-row.ts";
import { FIRST_CHUNKS, type KeptResponse, readResponse } from "./response-rows.ts";
import { readOrReport, readWhole, UnreadableError } from "./unreadable.ts";

/** A record, its row location, and the part of its history that the record itself does not hold. */
export interface RecordEntry {
  readonly record: IdempotencyRecord;
  readonly rowLocation: RowLocation;
  /** How the origin got the key of the first attempt (kernel/request/origin-key.ts); `null`: it got none that is known. */
  readonly keyForm: string | null;
  readonly history: readonly TimelineEvent[];
  /** The stored response of a completed record; `null` if none is kept. */
  readonly response: KeptResponse | null;
  /** The body in chunks that belongs to the record, or will, if its attempt writes one. */
  readonly body: BodyNumber | null;
}

export function entryOf(row: FoundRow): RecordEntry {
  return {
    record: readRecord(row),
    rowLocation: rowLocationOf(row),
    keyForm: readKeyForm(row),
    history: readHistory(row.history),
    response: readResponse(row),
    body: row.body_number === null ? null : bodyNumber(readWhole(row.body_number, "the number of a body")),
  };
}

/** Those that can be read. */
export function readableEntries(
  rows: readonly FoundRow[],
): readonly { readonly id: RecordId; readonly entry: RecordEntry }[] {
  return rows.flatMap((row) => {
    const entry = readOrReport(() => entryOf(row), { recordId: row.id });
    return entry === null ? [] : [{ id: recordId(row.id), entry }];
  });
}

/** SQL: the row of a record in the window from slot ?1 through slot ?2 of these buckets. */
export function findIn(buckets: string): string {
  // The `+` keeps SQLite from making an index of the whole table for `id`.
  return `SELECT ${FOUND_COLUMNS} FROM ${recordsIn(buckets)} ${FIRST_CHUNKS} WHERE +id = ?3 LIMIT 1`;
}

/** How the origin gets the key of the attempt that a request claims: as that of the record's first. */
export function formFor(entry: RecordEntry | null, record: IdempotencyRecord, given: string | null): string | null {
  const before = entry?.record.attempt.number ?? 0;
  const { number } = record.attempt;
  // A record that has expired begins anew, at 1.
  const isLater = before > 0 && (record.state === "started" ? number > before : number === before);
  if (!isLater || given === null) return given;
  // With the key in another form the origin would take it for another operation.
  if (entry === null || entry.keyForm === null) throw new UnreadableError("how the origin got a record's key");
  return entry.keyForm;
}
