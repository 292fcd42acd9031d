// Forgets the records of one caller, for the day when somebody asks to be erased. No row says whose it is: a record's name is computed
// again from its key and the caller's scope values, and compared; an encrypted record, whose key is not stored, has a digest of its scope. What
// other features keep beside the records, such as undelivered events, is erased too: each row says the key of its record.
// One call looks at a bounded number of rows in one short turn. The values are never stored, logged or answered.

import type { ObjectFeature, ObjectKernel, RowOfRecord } from "../../../kernel/object-feature.ts";
import { answerCall, jsonCall } from "../../../kernel/call.ts";
import type { OperatorEvent } from "../../../kernel/record/events.ts";
import { epochMs, type RecordId, recordId } from "../../../kernel/record/units.ts";
import { isNameIn } from "../../../kernel/request/record-name.ts";
import type { ScopeValues } from "../../../kernel/request/scope.ts";
import type { RecordSteps } from "../../../kernel/object/record-steps.ts";
import { readLabel, type RecordLabel, LABEL_COLUMNS, type LabelRow } from "../../../kernel/store/label.ts";
import type { Ledger } from "../../../kernel/store/ledger.ts";
import {
  type RowLocation,
  NUMBER,
  nextRowLocation,
  LOCATION_COLUMNS,
  rowLocationOf,
  type LocationColumns,
  WAITING,
} from "../../../kernel/store/record-numbers.ts";
import type { LedgerSql } from "../../../kernel/store/schema.ts";

/** By a request alone: the values may be long, and they are secrets. */
export const ERASE_SCOPE_CALL = jsonCall<ScopeErasure, ErasedSlice>("erase-scope");

/** The rows that one call looks at, and the caller's records that it forgets at most: requests wait while it does. */
export const ROWS_PER_CALL = 100;
export const RECORDS_PER_CALL = 10;

/**
 * Where a call begins. What waits for an attempt is looked at first (`isFirstLook`), and again at the end, because waiting records come last
 * in their order: one whose attempt begins meanwhile moves to the front, where the first look would have been over.
 */
export interface ErasurePosition extends RowLocation {
  readonly isFirstLook?: boolean;
}

export const FIRST_ROW_LOCATION: RowLocation = { expiryBucket: 0, slot: 0 };

/** Where the first call begins. */
export const ERASURE_BEGIN: ErasurePosition = { ...FIRST_ROW_LOCATION, isFirstLook: true };

export interface ScopeErasure {
  /** The caller's values in each of the scopes in which the records may have been claimed. */
  readonly scopes: readonly ScopeValues[];
  /** What encrypted records store of these scopes, under each of the gateway's secrets. */
  readonly scopeDigests: readonly string[];
  /** The name of the layout whose object this is. */
  readonly layout: string;
  readonly from: ErasurePosition;
  /** Only counts. */
  readonly isPreview: boolean;
  /** Whether records with an unknown outcome are forgotten too, so that a retry may repeat what has taken effect. */
  readonly includesUnknown: boolean;
  readonly by: string;
  readonly reason: string;
}

export interface ErasureCounts {
  /** In a preview, those that would be. */
  readonly forgotten: number;
  /** Left: an attempt is in flight, or may still be running. */
  readonly inFlight: number;
  /** Left, unless these are included: the outcome is unknown. A preview counts them here in any case. */
  readonly unknown: number;
  /** Of other features' rows, such as events and dead letters; in a preview, those that would be erased. */
  readonly events: number;
}

export interface ErasedSlice extends ErasureCounts {
  /** Where the next call goes on; `null`: all records have been looked at. */
  readonly next: ErasurePosition | null;
}

export interface EraserPorts {
  readonly ledger: Pick<Ledger, "find">;
  readonly scan: RecordScan;
  readonly features: ObjectKernel["features"];
  readonly steps: Pick<RecordSteps, "see" | "change" | "whyNot">;
}

export class ScopeEraser {
  readonly #ports: EraserPorts;

  constructor(ports: EraserPorts) {
    this.#ports = ports;
  }

  async erase(erasure: ScopeErasure): Promise<ErasedSlice> {
    const { from, isPreview } = erasure;
    // A preview changes nothing, and must count nothing twice.
    if (from.isFirstLook === true && !isPreview) {
      const begin = from.expiryBucket < FIRST_WAITING.expiryBucket ? FIRST_WAITING : from;
      const { forgotten, next, isNothing } = await this.#look(begin, erasure);
      // What is left is counted at the end.
      const left = { inFlight: 0, unknown: 0, events: 0 };
      if (next !== null) return { forgotten, ...left, next: { ...next, isFirstLook: true } };
      if (!isNothing) return { forgotten, ...left, next: FIRST_ROW_LOCATION };
    }
    const { isNothing: _, ...slice } = await this.#look(from.isFirstLook === true ? FIRST_ROW_LOCATION : from, erasure);
    return slice.next === null ? { ...slice, events: await this.#eraseRows(erasure) } : slice;
  }

  /**
   * Erases what other features still have of the caller, whose records may be gone for long, or only counts it. All of it in one call, in
   * short turns: such a row has no place that a cursor could name, because an event moves with each try.
   */
  async #eraseRows(erasure: ScopeErasure): Promise<number> {
    let count = 0;
    for (const { rowsOfRecords } of this.#ports.features()) {
      for (const rows of rowsOfRecords?.(ROWS_PER_CALL) ?? []) {
        // oxlint-disable-next-line no-await-in-loop -- one short turn after the other
        const own = await Promise.all(rows.map((row) => isOfScope(labelled(row), erasure)));
        const found = rows.filter((_, at) => own[at] === true);
        count += (erasure.isPreview ? found : found.filter((row) => row.erase())).length;
      }
    }
    return count;
  }

  async #look(from: RowLocation, erasure: ScopeErasure): Promise<ErasedSlice & { readonly isNothing: boolean }> {
    const { records, next } = this.#ports.scan.slice(from, ROWS_PER_CALL);
    const own = await Promise.all(records.map((record) => isOfScope(record, erasure)));
    const counts = { forgotten: 0, inFlight: 0, unknown: 0, events: 0 };
    const found = records.filter((_, index) => own[index] === true);
    for (const { id } of found.slice(0, RECORDS_PER_CALL)) this.#forget(id, erasure, counts);
    return { ...counts, next: found[RECORDS_PER_CALL]?.place ?? next, isNothing: records.length === 0 };
  }

  #forget(
    id: ScannedRecord["id"],
    { isPreview, includesUnknown, by, reason }: ScopeErasure,
    counts: { forgotten: number; inFlight: number; unknown: number },
  ): void {
    const { ledger, steps } = this.#ports;
    const found = ledger.find(id)?.record ?? null;
    // Another request may have erased it since the slice was read.
    if (found === null) return;
    const isUnknown = steps.see(id, found, epochMs(Date.now()))?.state === "unknown";
    if (isUnknown && (isPreview || !includesUnknown)) {
      counts.unknown += 1;
      return;
    }
    const event: OperatorEvent = { type: "forget", by, reason };
    const why = isPreview ? steps.whyNot(id, event) : steps.change(id, event, null);
    // `none`: it had expired, and is erased now.
    if (why === null || why === "none") counts.forgotten += 1;
    else counts.inFlight += 1;
  }
}

function labelled({ record: id, key }: RowOfRecord): Pick<ScannedRecord, "id" | "label"> {
  return { id, label: readLabel({ id, key, route: "", note: null }) };
}

/** Whether a record, or the record of a row, is that of the caller with these scope values. */
async function isOfScope(
  { id, label: { key, scopeDigest } }: Pick<ScannedRecord, "id" | "label">,
  { scopes, scopeDigests, layout }: Pick<ScopeErasure, "scopes" | "scopeDigests" | "layout">,
): Promise<boolean> {
  if (scopeDigest !== undefined) return scopeDigests.includes(scopeDigest);
  const found = await Promise.all(scopes.map((values) => isNameIn(id, key, values, layout)));
  return found.includes(true);
}

export function callersObject({ ledger, storage: { sql }, steps, features }: ObjectKernel): ObjectFeature {
  const eraser = new ScopeEraser({ ledger, scan: new RecordScan(sql), features, steps });
  return { name: "callers", calls: [answerCall(ERASE_SCOPE_CALL, (erasure) => eraser.erase(erasure))] };
}

// Goes through all records of a shard in the order of their numbers, a slice at a time: those in flight first, then by expiry. A
// record that is begun or moved meanwhile may be missed.

/** What says whose a record is. */
export interface ScannedRecord {
  readonly id: RecordId;
  readonly label: RecordLabel;
  readonly place: RowLocation;
}

export interface ScanSlice {
  readonly records: readonly ScannedRecord[];
  /** Where the next slice begins; `null` at the end. */
  readonly next: RowLocation | null;
}

/** Where those begin that wait for an attempt, the last of all. */
export const FIRST_WAITING: RowLocation = { expiryBucket: WAITING, slot: 0 };

export class RecordScan {
  readonly #sql: LedgerSql;

  constructor(sql: LedgerSql) {
    this.#sql = sql;
  }

  slice({ expiryBucket, slot }: RowLocation, limit: number): ScanSlice {
    const rows = this.#sql
      .exec<LocationColumns & LabelRow>(
        `SELECT ${LOCATION_COLUMNS}, id, ${LABEL_COLUMNS} FROM records WHERE number >= ${NUMBER} ORDER BY number LIMIT +?`,
        expiryBucket,
        slot,
        limit,
      )
      .toArray();
    const last = rows.length < limit ? undefined : rows.at(-1);
    return {
      records: rows.map((row) => ({ id: recordId(row.id), label: readLabel(row), place: rowLocationOf(row) })),
      next: last === undefined ? null : nextRowLocation(rowLocationOf(last)),
    };
  }
}
