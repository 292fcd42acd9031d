// The expiry buckets of a shard: records that expire at about the same time lie together, so that erasing needs no index.

import type { ExpiringRecord, IdempotencyRecord } from "../record/record.ts";
import { type EpochMs, epochMs } from "../record/units.ts";
import { bucketOf, bucketValues, IS_AT_REST, LAST_BUCKET, numberAfter, WAITING } from "./record-numbers.ts";
import type { LedgerSql } from "./schema.ts";

/** The expiry bucket of records with an attempt in flight. */
export const IN_FLIGHT = 0;

/**
 * Buckets per retention: a record is erased at most an eighth of its retention after it has expired (from the millisecond of
 * expiry it is no longer *found*), and a look-up costs one seek for each of the nine buckets that can exist.
 */
const BUCKETS_PER_RETENTION = 8;

/** Buckets are whole seconds, so an alarm that is an hour late finds at most 3,600 of them, however short the retention is. */
const SECOND_MS = 1000;

/** The most buckets in one look-up statement: a statement has at most 100 KB (platform limit), and a bucket takes 22 bytes. */
export const MAX_IN_LIST = 800;

/** The expiry buckets that may hold a record. They are few, and kept in memory so that a look-up need not read them. */
export class ExpiryBuckets {
  readonly #all: Set<number>;
  #lists: readonly string[] | null = null;

  constructor(sql: LedgerSql) {
    this.#all = new Set([IN_FLIGHT, ...listExpiryBuckets(sql)]);
  }

  /** In flight first. */
  get all(): ReadonlySet<number> {
    return this.#all;
  }

  /**
   * For the text of a statement (`recordsIn`): the platform allows 100 parameters, and there can be more buckets. One list, unless
   * the alarm is very late. The newest come first after those in flight: most retries come soon.
   */
  get lists(): readonly string[] {
    if (this.#lists === null) {
      const all = [
        IN_FLIGHT,
        ...[...this.#all].filter((one) => one !== IN_FLIGHT).toSorted((one, other) => other - one),
      ];
      const lists = Math.ceil(all.length / MAX_IN_LIST);
      this.#lists = Array.from({ length: lists }, (_, at) =>
        bucketValues(all.slice(at * MAX_IN_LIST, (at + 1) * MAX_IN_LIST)),
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
    for (const one of this.#all) {
      if (one !== IN_FLIGHT && one !== WAITING && endOf(one) <= now) this.#all.delete(one);
    }
    this.#lists = null;
  }
}

/**
 * The bucket in which a record expires: its end, in seconds. Longer retentions have wider buckets, so the number of buckets is
 * bounded.
 */
export function expiryBucketOf(record: IdempotencyRecord): number {
  if (record.state === "started") return IN_FLIGHT;
  if (record.state === "waiting") return WAITING;
  const width = Math.max(1, Math.floor(keptMs(record) / BUCKETS_PER_RETENTION / SECOND_MS));
  return Math.min(LAST_BUCKET, Math.ceil(record.expiresAt / SECOND_MS / width) * width);
}

function keptMs({ state, policy }: ExpiringRecord): number {
  switch (state) {
    case "unknown":
      return policy.unknownRetentionMs;
    case "remembered":
      return policy.rememberMs ?? policy.retentionMs;
    case "failed":
    case "completed":
      return policy.retentionMs;
  }
}

/** From when on every record of the bucket has expired. */
export function endOf(expiryBucket: number): EpochMs {
  return epochMs(expiryBucket * SECOND_MS);
}

/** The last bucket whose records have all expired, whether or not it holds any. Nothing in the last of all is ever erased. */
export function lastExpired(now: EpochMs): number {
  return Math.min(LAST_BUCKET - 1, Math.floor(now / SECOND_MS));
}

/** Goes from each bucket to the next by key: one seek for each bucket. That of waiting records comes last, without those in flight. */
export function listExpiryBuckets(sql: LedgerSql): readonly number[] {
  return sql
    .exec<{ bucket: number }>(
      `WITH RECURSIVE found(bucket) AS (
         SELECT ${bucketOf("min(number)")} FROM records WHERE ${IS_AT_REST}
         UNION ALL SELECT (SELECT ${bucketOf("min(number)")} FROM records WHERE number >= ${numberAfter("found.bucket")}) FROM found WHERE found.bucket IS NOT NULL
       ) SELECT bucket FROM found WHERE bucket IS NOT NULL`,
    )
    .toArray()
    .map(({ bucket }) => bucket);
}
