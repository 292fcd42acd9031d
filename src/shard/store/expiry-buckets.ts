// The expiry buckets of a shard: records that expire at about the same time lie together, so that erasing needs no index.

import type { IdempotencyRecord } from "../../core/record.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Sql } from "./schema.ts";

/** The expiry bucket of records with an attempt in flight. */
export const IN_FLIGHT = 0;

/**
 * Buckets per retention: a record is erased at most an eighth of its retention after it has expired (from the millisecond of
 * expiry it is no longer *found*), and a look-up costs one seek for each of the nine buckets that can exist.
 */
const BUCKETS_PER_RETENTION = 8;

/** The smallest width, so that an alarm that is an hour late finds at most 3,600 buckets, however short the retention is. */
const MIN_WIDTH_MS = 1000;

/** The most buckets in one look-up statement: a statement has at most 100 KB (platform limit), and a bucket takes 14 bytes. */
const MAX_IN_LIST = 1000;

/** The expiry buckets that may hold a record. They are few, and kept in memory so that a look-up need not read them. */
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
   * For the text of a statement: the platform allows 100 parameters, and there can be more buckets. One list, unless the alarm is
   * very late.
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

  /** To be called when all expired buckets are empty. */
  forgetExpired(now: EpochMs): void {
    for (const one of this.#all) if (one !== IN_FLIGHT && one <= now) this.#all.delete(one);
    this.#lists = null;
  }
}

/** The end of the bucket in which a record expires. Longer retentions have wider buckets, so the number of buckets is bounded. */
export function expiryBucketOf(record: IdempotencyRecord): number {
  if (record.state === "started") return IN_FLIGHT;
  const { retentionMs, unknownRetentionMs } = record.policy;
  const keptMs = record.state === "unknown" ? unknownRetentionMs : retentionMs;
  const widthMs = Math.max(MIN_WIDTH_MS, Math.floor(keptMs / BUCKETS_PER_RETENTION));
  return Math.ceil(record.expiresAt / widthMs) * widthMs;
}

/** Goes from each bucket to the next by key: one seek for each bucket. */
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
