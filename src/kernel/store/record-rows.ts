// Writes a record to its row of the ledger, with what belongs to it.

import type { IdempotencyRecord } from "../record/record.ts";
import { recordFault } from "../record/record-fault.ts";
import type { TimelineEvent } from "../record/timeline.ts";
import type { BodyNumber, RecordId } from "../record/units.ts";
import { keyText, type RecordLabel, LABEL_COLUMNS, type LabelRow, readLabel } from "./label.ts";
import { LAST_BUCKET, NUMBER, type RowLocation, type RecordNumbers } from "./record-numbers.ts";
import { ATTEMPT_COLUMNS } from "./record-row.ts";
import { keptOf, type KeptResponse, RESPONSE_COLUMNS, writeResponse } from "./response-rows.ts";
import type { LedgerSql } from "./schema.ts";
import {
  ACCEPTANCE_COLUMNS,
  type AcceptanceWrite,
  readRequest,
  REQUEST_COLUMNS,
  type RequestRow,
  type StoredRequest,
  writeAcceptance,
  writeRequest,
} from "./stored-request.ts";

/** All that is written to a record's row. */
export interface RecordContent {
  readonly record: IdempotencyRecord;
  readonly response: KeptResponse | null;
  /** The body in chunks that the record may have. */
  readonly body: BodyNumber | null;
  readonly verification: string | null;
  /** Written with a claim only. */
  readonly keyForm: string | null;
  readonly history: readonly TimelineEvent[];
  /** `null`: the row keeps its label; a new row gets an empty one. */
  readonly label: RecordLabel | null;
  readonly acceptanceWrite: AcceptanceWrite;
  /** Only with `accept`. */
  readonly request: StoredRequest | null;
}

/** A statement and its values. Fewer values are faster (measured: 0.2 µs each, for reads and writes). */
interface Statement {
  readonly query: string;
  readonly values: readonly SqlStorageValue[];
}

/** SQL: the row of a location that has this id. */
const AT_PLACE = `number = ${NUMBER} AND id = ?`;

const LABEL = ["key", "route", "note", "lane"];
const END = ["completed_at", "expires_at", "status", "kept", "history", "body_number", ...RESPONSE_COLUMNS];
const WAIT = ["retry_from", "verify_at", "verifications", "verification", "may_have_acted"];

/** What a statement does when the slot is taken: nothing, or it fails. */
type OnTaken = "IGNORE" | "ABORT";
type Texts = Readonly<Record<OnTaken, string>>;

type Statements = Readonly<Record<AcceptanceWrite, Texts>>;

/** A first attempt. */
const CLAIM = insertions(["id", ...LABEL, ...ATTEMPT_COLUMNS, "key_form", "verification", "body_number"]);
const INSERT = insertions(["id", ...LABEL, ...ATTEMPT_COLUMNS, "key_form", ...END, ...WAIT]);
/** Keeps the attempt's columns except its lock, and clears the waiting times and what has now been published. */
const COMPLETE = updates(["state", "locked_until", ...END], [...WAIT, "publish", "key_form"]);
const REPLACE = updates([...ATTEMPT_COLUMNS, ...END, ...WAIT]);
/** Another attempt, or a new record after an expired one. Writes the label too, since the route's path may have changed. */
const CLAIM_AGAIN = updates([...LABEL, ...ATTEMPT_COLUMNS, "key_form", ...END, ...WAIT]);

function insertions(columns: readonly string[]): Statements {
  const plain = insert(columns);
  const accept = insert([...columns, ...ACCEPTANCE_COLUMNS, ...REQUEST_COLUMNS]);
  return { never: plain, accept, keep: insert([...columns, ...ACCEPTANCE_COLUMNS]), end: plain };
}

function updates(columns: readonly string[], emptied: readonly string[] = []): Statements {
  return {
    never: update(columns, emptied),
    accept: update([...columns, ...ACCEPTANCE_COLUMNS, ...REQUEST_COLUMNS], emptied),
    keep: update([...columns, ...ACCEPTANCE_COLUMNS], emptied),
    end: update(columns, [...emptied, ...ACCEPTANCE_COLUMNS, ...REQUEST_COLUMNS]),
  };
}

function insert(columns: readonly string[]): Texts {
  const values = [NUMBER, ...columns.map(() => "?")].join(", ");
  const text = (or: OnTaken): string =>
    `INSERT OR ${or} INTO records (number, ${columns.join(", ")}) VALUES (${values})`;
  return { IGNORE: text("IGNORE"), ABORT: text("ABORT") };
}

function update(columns: readonly string[], emptied: readonly string[]): Texts {
  const settings = [...columns.map((column) => `${column} = ?`), ...emptied.map((column) => `${column} = NULL`)];
  const text = (or: OnTaken): string =>
    `UPDATE OR ${or} records SET number = ${NUMBER}, ${settings.join(", ")} WHERE ${AT_PLACE}`;
  return { IGNORE: text("IGNORE"), ABORT: text("ABORT") };
}

/** The rows of records, each read and written by its location. The id is compared too, so that no other record is ever changed. */
export class RecordRows {
  readonly #sql: LedgerSql;
  readonly #numbers: RecordNumbers;

  constructor(sql: LedgerSql, numbers: RecordNumbers) {
    this.#sql = sql;
    this.#numbers = numbers;
  }

  /** Writes a row, mostly with one statement. A record that stays in its bucket keeps its location. Returns where it is now. */
  put(id: RecordId, before: RowLocation | null, expiryBucket: number, row: RecordContent): RowLocation {
    // What must not be read must not be written: see `readRecord`.
    const fault = recordFault(row.record);
    if (fault !== null) throw new TypeError(`a record must not be written: ${fault}`);
    const write = (rowLocation: RowLocation, or: OnTaken): boolean => {
      const { query, values } =
        before === null ? insertion(id, rowLocation, row, or) : replacement(id, before, rowLocation, row, or);
      return this.#sql.exec(query, ...values).rowsWritten > 0;
    };
    if (before?.expiryBucket === expiryBucket) {
      write(before, "ABORT");
      return before;
    }
    const preferred = this.#numbers.preferredLocation(expiryBucket, id);
    if (write(preferred, "IGNORE")) return preferred;
    // A row that was ignored for another reason fails here.
    const free = this.#numbers.freeLocation(expiryBucket, id);
    write(free, "ABORT");
    return free;
  }

  /** Moves a record that cannot be read to the last bucket, as it is. */
  setAside(id: RecordId, { expiryBucket, slot }: RowLocation): void {
    const to = this.#numbers.freeLocation(LAST_BUCKET, id);
    this.#sql.exec(`UPDATE records SET number = ${NUMBER} WHERE ${AT_PLACE}`, ...valuesOf(to), expiryBucket, slot, id);
  }

  putHistory(id: RecordId, { expiryBucket, slot }: RowLocation, history: readonly TimelineEvent[]): void {
    this.#sql.exec(`UPDATE records SET history = ? WHERE ${AT_PLACE}`, JSON.stringify(history), expiryBucket, slot, id);
  }

  erase(id: RecordId, { expiryBucket, slot }: RowLocation): void {
    this.#sql.exec(`DELETE FROM records WHERE ${AT_PLACE}`, expiryBucket, slot, id);
  }

  label(id: RecordId, { expiryBucket, slot }: RowLocation): RecordLabel | null {
    const [row] = this.#sql
      .exec<Required<Pick<LabelRow, keyof LabelRow>>>(
        `SELECT id, ${LABEL_COLUMNS}, lane FROM records WHERE ${AT_PLACE}`,
        expiryBucket,
        slot,
        id,
      )
      .toArray();
    return row === undefined ? null : readLabel(row);
  }

  /** The request of an accepted record; `null` if it has none. */
  request(id: RecordId, { expiryBucket, slot }: RowLocation): StoredRequest | null {
    const [row] = this.#sql
      .exec<RequestRow>(`SELECT request, request_body FROM records WHERE ${AT_PLACE}`, expiryBucket, slot, id)
      .toArray();
    return row === undefined ? null : readRequest(row);
  }

  verification(id: RecordId, { expiryBucket, slot }: RowLocation): string | null {
    const [row] = this.#sql
      .exec<{ verification: string | null }>(
        `SELECT verification FROM records WHERE ${AT_PLACE}`,
        expiryBucket,
        slot,
        id,
      )
      .toArray();
    return row?.verification ?? null;
  }
}

/** Inserts a new row. */
function insertion(id: RecordId, rowLocation: RowLocation, row: RecordContent, or: OnTaken): Statement {
  const { record, verification, keyForm, body, label, acceptanceWrite } = row;
  const accepted = acceptanceValues(row);
  const labelled = label === null ? ["", "", null, null] : labelOf(label);
  const claimed = [...valuesOf(rowLocation), id, ...labelled, ...attemptOf(record), keyForm];
  // What a consumer says of its claim is its history.
  if (record.state === "started" && row.history.length === 0) {
    return { query: CLAIM[acceptanceWrite][or], values: [...claimed, verification, body, ...accepted] };
  }
  return { query: INSERT[acceptanceWrite][or], values: [...claimed, ...endOf(row), ...waitOf(row), ...accepted] };
}

/** Replaces the row with this id in the location `before`. A completed record must have the attempt of that row. */
function replacement(
  id: RecordId,
  before: RowLocation,
  rowLocation: RowLocation,
  row: RecordContent,
  or: OnTaken,
): Statement {
  const { record, label, acceptanceWrite, keyForm } = row;
  const waits = record.state === "completed" ? [] : waitOf(row);
  const end = [...endOf(row), ...waits, ...acceptanceValues(row), ...valuesOf(before), id];
  if (record.state === "completed") {
    return {
      query: COMPLETE[acceptanceWrite][or],
      values: [...valuesOf(rowLocation), record.state, record.attempt.lockedUntil, ...end],
    };
  }
  const attempt = attemptOf(record);
  return (record.state === "started" || record.state === "waiting") && label !== null
    ? {
        query: CLAIM_AGAIN[acceptanceWrite][or],
        values: [...valuesOf(rowLocation), ...labelOf(label), ...attempt, keyForm, ...end],
      }
    : { query: REPLACE[acceptanceWrite][or], values: [...valuesOf(rowLocation), ...attempt, ...end] };
}

function acceptanceValues({ record, acceptanceWrite, request }: RecordContent): readonly SqlStorageValue[] {
  switch (acceptanceWrite) {
    case "accept":
      return [...writeAcceptance(record), ...(request === null ? [null, null] : writeRequest(request))];
    case "keep":
      return writeAcceptance(record);
    case "never":
    case "end":
      return [];
  }
}

function valuesOf({ expiryBucket, slot }: RowLocation): readonly number[] {
  return [expiryBucket, slot];
}

function labelOf(label: RecordLabel): readonly SqlStorageValue[] {
  return [keyText(label), label.route, label.note ?? null, label.lane ?? null];
}

function attemptOf({ state, fingerprint, attempt, policy }: IdempotencyRecord): readonly SqlStorageValue[] {
  const { id, number, startedAt, lockedUntil } = attempt;
  const { unknown, lockMs, retentionMs, unknownRetentionMs, rememberMs = null, publish } = policy;
  const times = [lockMs, retentionMs, unknownRetentionMs, rememberMs];
  const published = publish === undefined ? null : JSON.stringify(publish);
  return [state, fingerprint, id, number, startedAt, lockedUntil, unknown, ...times, published];
}

function endOf({ record, response, body, history }: RecordContent): readonly SqlStorageValue[] {
  const completed = record.state === "completed" ? record : null;
  return [
    completed?.completedAt ?? null,
    record.state === "started" || record.state === "waiting" ? null : record.expiresAt,
    completed?.status ?? (record.state === "remembered" ? record.status : null),
    completed === null ? null : keptOf(completed.kept, response),
    history.length === 0 ? null : JSON.stringify(history),
    body,
    ...writeResponse(response),
  ];
}

function waitOf({ record, verification }: RecordContent): readonly SqlStorageValue[] {
  const unknown = record.state === "unknown" ? record : null;
  const retryFrom = record.state === "failed" ? record.retryFrom : null;
  const mayHaveActed = record.attempt.mayHaveActed ? 1 : 0;
  return [retryFrom, unknown?.verifyAt ?? null, unknown?.verifications ?? null, verification, mayHaveActed];
}
