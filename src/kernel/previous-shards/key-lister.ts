// Lists the keys that a sealed object still holds (kernel/record/held-keys.ts).

import { type HeldKeys, LIST_DIGITS, SHORT_HASH_DIGITS, SHORT_HASH_FROM } from "../record/held-keys.ts";
import { keyHashOf } from "../record/units.ts";
import type { ExpiryBuckets } from "../store/expiry-buckets.ts";
import { type RecordNumbers, recordsIn } from "../store/record-numbers.ts";
import type { Sql } from "../store/schema.ts";

/** The most records that one list is made of: they are read in one turn, which takes about a millisecond. */
const MAX_LISTED = 4000;

/** A list of fewer than a twentieth of that is followed by one of sixteen times the range. */
const FEW = 1 / 20;

/** Operators see how many keys are left once there are so few. They look every two seconds. */
const MAX_COUNTED = 256;

export class KeyLister {
  readonly #sql: Sql;
  readonly #numbers: Pick<RecordNumbers, "windows">;
  readonly #buckets: Pick<ExpiryBuckets, "lists">;
  readonly #most: number;
  /** By how many digits the keys of the last list were alike. */
  #digits = 0;

  constructor(
    sql: Sql,
    numbers: Pick<RecordNumbers, "windows">,
    buckets: Pick<ExpiryBuckets, "lists">,
    most = MAX_LISTED,
  ) {
    this.#sql = sql;
    this.#numbers = numbers;
    this.#buckets = buckets;
    this.#most = most;
  }

  /** The keys whose hashes begin as this one's, with as few digits as a list allows; `null`: even with all digits they are too many. */
  around(keyHash: string): HeldKeys | null {
    for (let digits = this.#digits; digits <= LIST_DIGITS; digits += 1) {
      const begin = keyHash.slice(0, digits);
      const hashes = this.#hashesWith(begin);
      if (hashes === null) continue;
      this.#digits = hashes.length < this.#most * SHORT_HASH_DIGITS * FEW && digits > 0 ? digits - 1 : digits;
      return { begin, hashes };
    }
    return null;
  }

  /** How many keys there are; `null`: too many to be counted. */
  count(): number | null {
    const rows = this.#sql.exec<{ id: string }>("SELECT id FROM records LIMIT ?", MAX_COUNTED + 1).toArray();
    return rows.length > MAX_COUNTED ? null : new Set(rows.map(({ id }) => keyHashOf(id))).size;
  }

  /** One row of one text: a row for each key takes three times as long. */
  #hashesWith(begin: string): string | null {
    const { from, through } = this.#numbers.windows(begin);
    let all = "";
    for (const values of this.#buckets.lists) {
      const { hashes } = this.#sql
        .exec<{ hashes: string | null }>(
          `SELECT group_concat(hash, '') AS hashes FROM (SELECT substr(records.id, ${SHORT_HASH_FROM + 1}, ${SHORT_HASH_DIGITS}) AS hash FROM ${recordsIn(values)} WHERE substr(records.id, 1, ?3) = ?4 LIMIT ?5)`,
          from,
          through,
          begin.length,
          begin,
          this.#most + 1 - all.length / SHORT_HASH_DIGITS,
        )
        .one();
      all += hashes ?? "";
      if (all.length > this.#most * SHORT_HASH_DIGITS) return null;
    }
    return all;
  }
}
