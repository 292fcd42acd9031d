// The keys of the table of records. A record's number is made of its expiry bucket and a slot, and the slot of its id, so that a
// look-up compares integers and reads no other record, however large. No index is written.
//
//   number     = expiry bucket (32 bits: seconds until 2106; 0 while an attempt is in flight), slot (31 bits)
//   preferred slot  = the first three digits of the id (12 bits), a digest of all others (19 bits)
//
// Ids that begin alike, such as those of one key, so have their preferred slots in one range of each bucket. A record whose preferred slot is taken lies
// in the window that begins there. All windows have the same reach. It grows when a window is full, is kept on the disk then, and
// never shrinks: a caller who chooses keys that collide makes windows longer, but finds no record hidden.

import type { RecordId } from "../record/units.ts";
import { makeReachTable, type LedgerSql } from "./schema.ts";
import { readWhole } from "./unreadable.ts";

const SLOT_BITS = 31;
const LAST_SLOT = 2 ** SLOT_BITS - 1;
/** The last bucket, that of waiting records: the one after it would overflow the 63 bits of a number. */
export const WAITING = 2 ** 32 - 2;
/** The last one in which records expire. */
export const LAST_BUCKET = WAITING - 1;

const BEGIN_DIGITS = 3;
const DIGEST_BITS = 19;

/** SQL: the number of the row location in the statement's next two values. Bits are set, not added: see KEY in bodies.ts. */
export const NUMBER = `(? << ${SLOT_BITS} | ?)`;
/** SQL: the same for numbered values. */
export const numberOf = (bucket: string, slot: string): string => `(${bucket} << ${SLOT_BITS} | ${slot})`;
/** SQL: the first number of the bucket after this one. */
export const numberAfter = (bucket: string): string => `((${bucket} + 1) << ${SLOT_BITS})`;
/** SQL: the bucket and the slot of a number. */
export const bucketOf = (number: string): string => `${number} >> ${SLOT_BITS}`;
export const slotOf = (number: string): string => `${number} & ${LAST_SLOT}`;
/** SQL: where a record is. */
export const LOCATION = { bucket: bucketOf("records.number"), slot: slotOf("records.number") };
export const LOCATION_COLUMNS = `${LOCATION.bucket} AS bucket, ${LOCATION.slot} AS slot`;
/** SQL: whether a record is in the bucket of those in flight. */
export const IS_IN_FLIGHT = `records.number <= ${LAST_SLOT}`;
/** SQL: in any other, for statements that have an upper bound of their own: SQLite seeks by one only. */
export const IS_AT_REST = `records.number > ${LAST_SLOT}`;
/** SQL: in a bucket in which records expire. */
export const IS_FINISHED = `${IS_AT_REST} AND records.number < ${BigInt(WAITING) << BigInt(SLOT_BITS)}`;

/** Where a record is. */
export interface RowLocation {
  /** In seconds. */
  readonly expiryBucket: number;
  readonly slot: number;
}

/** The columns of PLACE_COLUMNS. */
export interface LocationColumns extends Record<string, SqlStorageValue> {
  readonly bucket: number;
  readonly slot: number;
}

/** Slots of a bucket, both ends included. */
export interface SlotRange {
  readonly from: number;
  readonly through: number;
}

export const WHOLE_BUCKET: SlotRange = { from: 0, through: LAST_SLOT };

export function rowLocationOf({ bucket, slot }: Pick<LocationColumns, "bucket" | "slot">): RowLocation {
  return { expiryBucket: bucket, slot };
}

/** The row location after this one; after the last slot of a bucket it is in the next. */
export function nextRowLocation({ expiryBucket, slot }: RowLocation): RowLocation {
  return slot < LAST_SLOT ? { expiryBucket, slot: slot + 1 } : { expiryBucket: expiryBucket + 1, slot: 0 };
}

/** SQL: one value for each bucket. A bucket's number exceeds what a JavaScript number holds exactly. */
export function bucketValues(expiryBuckets: readonly number[]): string {
  return expiryBuckets.map((one) => `(${BigInt(one) << BigInt(SLOT_BITS)})`).join();
}

/** SQL: the records in the window from slot ?1 through slot ?2 of each of these buckets. */
export function recordsIn(values: string): string {
  return `(VALUES ${values}) AS live CROSS JOIN records ON records.number BETWEEN live.column1 | ?1 AND live.column1 | ?2`;
}

/** FNV-1a, 32 bits. It only spreads: callers choose what it digests, whatever it is. */
function digest(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ (text.codePointAt(at) ?? 0), 0x01000193);
  return sum >>> 0;
}

/** The slot at which the window of a record begins. What is stored depends on it and on MIN_REACH: neither may ever change. */
export interface PreferredSlots {
  readonly of: (id: string) => number;
  /** The preferred slots of all ids that begin so, with at most three digits. */
  readonly range: (begin: string) => SlotRange;
}

export function preferredSlotOf(id: string): number {
  const sum = digest(id.slice(BEGIN_DIGITS));
  return firstSlotOf(id.slice(0, BEGIN_DIGITS)) + ((sum ^ (sum >>> DIGEST_BITS)) & (2 ** DIGEST_BITS - 1));
}

/** The first preferred slot of the ids with these first digits. Only a test has ids that are not hexadecimal. */
function firstSlotOf(digits: string): number {
  return (Number.parseInt(digits, 16) || 0) * 2 ** DIGEST_BITS;
}

export const PREFERRED_SLOTS: PreferredSlots = {
  of: preferredSlotOf,
  range: (begin) => ({
    from: firstSlotOf(begin.padEnd(BEGIN_DIGITS, "0")),
    through: firstSlotOf(begin.padEnd(BEGIN_DIGITS, "f")) + 2 ** DIGEST_BITS - 1,
  }),
};

/** The first reach. A shard with a million records has some whose preferred slots collide, but hardly three. */
const MIN_REACH = 7;
/** Slots that are tried in each reach. */
const TRIES = 8;

export class RecordNumbers {
  readonly #sql: LedgerSql;
  readonly #preferredSlots: PreferredSlots;
  /** One less than a power of two. */
  #reach: number;

  /** `hasGrown`: whether the table of the reach exists. */
  constructor(sql: LedgerSql, hasGrown: boolean, preferredSlots: PreferredSlots = PREFERRED_SLOTS) {
    this.#sql = sql;
    this.#preferredSlots = preferredSlots;
    const [row] = hasGrown ? sql.exec<{ slots: number }>("SELECT slots FROM reach").toArray() : [];
    // Too small a reach would hide records.
    this.#reach =
      row === undefined ? MIN_REACH : readWhole(row.slots, "how far records lie from their preferred slots", MIN_REACH);
  }

  /** Where a record lies, if there is one. */
  window(id: RecordId): SlotRange {
    return windowFrom(this.#preferredSlots.of(id), this.#reach);
  }

  /** Where the records lie whose ids begin so: other records lie there too. */
  windows(begin: string): SlotRange {
    const { from, through } = this.#preferredSlots.range(begin.slice(0, BEGIN_DIGITS));
    return { from: windowFrom(from, this.#reach).from, through: windowFrom(through, this.#reach).through };
  }

  /** The location that a record gets, unless it is taken. */
  preferredLocation(expiryBucket: number, id: RecordId): RowLocation {
    return { expiryBucket, slot: this.#preferredSlots.of(id) };
  }

  /**
   * A free location for a record whose preferred slot is taken. Look-ups find it there, also after a restart: to be called in the turn that
   * writes the record.
   */
  freeLocation(expiryBucket: number, id: RecordId): RowLocation {
    const preferred = this.preferredLocation(expiryBucket, id);
    if (this.#occupant(preferred) === id) throw new Error("the record is there already");
    const start = digest(id);
    for (let reach = MIN_REACH; reach <= LAST_SLOT; reach = 2 * reach + 1) {
      const { from } = windowFrom(preferred.slot, reach);
      for (let turn = 0; turn < TRIES; turn += 1) {
        // An odd step, so that all tries differ.
        const location = { expiryBucket, slot: from + ((start + Math.imul(turn, start | 1)) & reach) };
        if (this.#occupant(location) !== null) continue;
        if (reach > MIN_REACH) this.#keep(reach);
        return location;
      }
    }
    throw new Error("the shard has no free slot for another record");
  }

  #occupant({ expiryBucket, slot }: RowLocation): string | null {
    const [row] = this.#sql
      .exec<{ id: string }>(`SELECT id FROM records WHERE number = ${NUMBER}`, expiryBucket, slot)
      .toArray();
    return row?.id ?? null;
  }

  /** Writes it each time, as far as it grows: a transaction may have undone what is remembered here. */
  #keep(reach: number): void {
    makeReachTable(this.#sql);
    this.#sql.exec(
      "INSERT INTO reach (one, slots) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET slots = excluded.slots WHERE slots < excluded.slots",
      reach,
    );
    this.#reach = Math.max(this.#reach, reach);
  }
}

/** A window never leaves its bucket: near the end it begins before its preferred slot. A longer one contains every shorter one. */
function windowFrom(preferred: number, reach: number): SlotRange {
  const from = Math.min(preferred, LAST_SLOT - reach);
  return { from, through: from + reach };
}
