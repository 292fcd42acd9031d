// Which records of a shard an operator wants to see.

import { type IdempotencyRecord, isClosed, type RecordState } from "../../core/record.ts";
import { readNote } from "../../core/request-note.ts";
import type { LabelRow } from "./label.ts";
import type { RecordRow } from "./record-row.ts";

/** Only ids, enums and numbers, because it travels as JSON in a header (see itty.ts). */
export interface ListQuery {
  /** Which part of the shard: open records, completed and remembered records, or all records of one key. */
  readonly section: "open" | "completed" | "key";
  /** For the section `key`: the beginning of the ids. It may be shorter or longer than a key's hash. */
  readonly keyHash: string | null;
  /** Empty: all. */
  readonly states: readonly RecordState[];
  /** The route's path, percent-encoded. */
  readonly route: string | null;
  readonly startedBefore: number | null;
  /** The digest of the caller that the record notes. */
  readonly caller?: string | null;
  /** The status of the result. */
  readonly status?: number | null;
  /** Where to continue: the `at` of a record, or a page's `next`. */
  readonly after: string | null;
  readonly limit: number;
}

/** Whether a row belongs to the list, as its record stands now. */
export function filterOf({
  section,
  states,
  route,
  startedBefore,
  caller = null,
  status = null,
}: ListQuery): (row: RecordRow & LabelRow, now: IdempotencyRecord) => boolean {
  const path = route === null ? null : decodeURIComponent(route);
  return (row, record) =>
    (states.length === 0 || states.includes(record.state)) &&
    (section === "key" || (section === "completed") === isClosed(record.state)) &&
    (path === null || row.route === path) &&
    (startedBefore === null || row.started_at <= startedBefore) &&
    (status === null || (isClosed(record.state) && row.status === status)) &&
    (caller === null || (row.note !== null && readNote(row.note).caller === caller));
}
