// The expiry buckets of a shard: records that expire at about the same time lie together, so that erasing them needs no index.

import type { IdempotencyRecord } from "../../core/record.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Sql } from "./schema.ts";

/** The expiry bucket of records with an attempt in flight. */
export const IN_FLIGHT = 0;

/**
 * Buckets per retention: a record is erased at most an eighth of its retention after it has expired (it is not *found*
 * from the millisecond on), and a look-up costs one seek for each of the nine buckets that can be alive.
 */
const BUCKETS_PER_RETENTION = 8;

/** However short a retention is, so that an alarm that is an hour late finds no more than 3,600 buckets. */
const MIN_WIDTH_MS = 1000;

/** A look-up names so many buckets at a time: a statement has at most 100 KB (platform limit), and a bucket takes 14 bytes of it. */
const MAX_IN_LIST = 1000;

/** The expiry buckets that may hold a record: a handful, kept in memory so that a look-up need not read them. */
export class ExpiryBuckets {
  readonly #all: Set<number>;
  #lists: readonly string[] | null = null;

  constructor(sql: Sql) {
    this.#all = new Set([IN_FLIGHT, ...listExpiryBuckets(sql)]);
  }

  /** In flight first. */
  get all(): ReadonlySet<number> {
    return this.#all;
  }

  /**
   * For the text of a statement: the platform takes 100 parameters, and there can be more buckets. One list, except where the
   * alarm is very late.
   */
  get lists(): readonly string[] {
    if (this.#lists === null) {
      const all = [...this.#all];
      const lists = Math.ceil(all.length / MAX_IN_LIST);
      this.#lists = Array.from({ length: lists }, (_, at) =>
        all.slice(at * MAX_IN_LIST, (at + 1) * MAX_IN_LIST).join(),
      );
    }
    return this.#lists;
  }

  add(expiryBucket: number): void {
    if (this.#all.has(expiryBucket)) return;
    this.#all.add(expiryBucket);
    this.#lists = null;
  }

  /** Called when the buckets that have expired are empty. */
  forgetExpired(now: EpochMs): void {
    for (const bucket of this.#all) if (bucket !== IN_FLIGHT && bucket <= now) this.#all.delete(bucket);
    this.#lists = null;
  }
}

/** The end of the bucket in which a record expires. Longer retentions have wider buckets, so their number is bounded. */
export function expiryBucketOf(record: IdempotencyRecord): number {
  if (record.state === "started") return IN_FLIGHT;
  const widthMs = Math.max(MIN_WIDTH_MS, Math.floor(record.policy.retentionMs / BUCKETS_PER_RETENTION));
  return Math.ceil(record.expiresAt / widthMs) * widthMs;
}

/** Walks from each bucket to the next by the key: as many seeks as there are buckets. */
export function listExpiryBuckets(sql: Sql): readonly number[] {
  return sql
    .exec<{ bucket: number }>(
      `WITH RECURSIVE found(bucket) AS (
         SELECT min(bucket) FROM records WHERE bucket > ?1
         UNION ALL SELECT (SELECT min(bucket) FROM records WHERE bucket > found.bucket) FROM found WHERE found.bucket IS NOT NULL
       ) SELECT bucket FROM found WHERE bucket IS NOT NULL`,
      IN_FLIGHT,
    )
    .toArray()
    .map(({ bucket }) => bucket);
}
