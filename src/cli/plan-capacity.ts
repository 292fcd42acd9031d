// What a load asks of the shards and costs a month on Cloudflare. Pure: a load in, figures out. The shards have to bear the peak;
// storage and dollars follow the average.

import { MAX_SHARDS } from "../kernel/config/layout.ts";
import {
  add,
  bytesPerRecord,
  firstUsage,
  HEAD_BYTES,
  NO_USAGE,
  REMEMBERED_BYTES,
  REMEMBERED_USAGE,
  replayUsage,
  type Usage,
} from "./plan-cost.ts";
import { ENOUGH, shardsFor, shardsNeeded, type Waiting, waiting } from "./plan-waiting.ts";
import { CALLS_AT_ONCE, OBJECT_GIGABYTES, PLAN_DOLLARS, PRICES, REQUESTS_PER_SECOND, STORAGE_BYTES } from "./prices.ts";

/** The setting's default: a smaller number gains nothing, because idle shards cost nothing. */
const DEFAULT_SHARDS = 64;

/**
 * One request may make 10,000 calls on Workers Paid, and an operator's request calls every shard of all layouts: the console's
 * overview five times, a list twice, a scrape once (src/kernel/traffic/README.md).
 * https://developers.cloudflare.com/workers/platform/limits/#subrequests
 */
export const OPERABLE_SHARDS = 10_000 / 5;

/** Cloudflare counts storage by months of 30 days. */
const MONTH_SECONDS = 30 * 86_400;

export interface Load {
  /** Requests with a key, first ones and duplicates, on average. */
  readonly requestsPerSecond: number;
  /** The share of them that are replays, from 0 to 1. */
  readonly replays: number;
  /** The peak, as a multiple of the average. */
  readonly spike: number;
  /** Until the headers of the origin's response. */
  readonly originMs: number;
  readonly responseBytes: number;
  /** Of a response's headers, each with its name. */
  readonly headerBytes: number;
  /** The setting: larger bodies are not kept in a shard. */
  readonly maxResponseBytes: number;
  readonly retentionMs: number;
  /** How long a key is remembered after its request; `null`: as long as its record. */
  readonly rememberMs: number | null;
}

/** One limit of the platform for each object, and how much of it the load uses. */
export interface LimitUse {
  readonly name: "calls" | "requests" | "storage";
  /** Calls in flight, requests per second at the peak, or bytes: in each shard, on average over the shards. */
  readonly perShard: number;
  readonly limit: number;
  /** 1: the limit is reached. */
  readonly used: number;
  /** The most of `used` with which the shards are enough. */
  readonly enough: number;
  /** The average load, with the same spike, at which `used` is `enough`. */
  readonly enoughUpToRequestsPerSecond: number;
}

/** What `onceway plan` counts: requests, and no events. */
type Counted = Exclude<keyof typeof PRICES, "queueOperation">;

export interface MonthlyCost {
  readonly what: Counted;
  readonly amount: number;
  readonly included: number;
  readonly dollars: number;
}

export interface Plan {
  readonly load: Load;
  readonly peakRequestsPerSecond: number;
  /** The fewest shards that leave room in each limit (src/cli/plan-waiting.ts). */
  readonly neededShards: number;
  /** The needed ones, rounded up to a power of two, and not below the default; `null` if that is more than the setting takes. */
  readonly recommendedShards: number | null;
  /** Those that the figures below are about: the given ones, else the recommended or the needed ones. */
  readonly shards: number;
  /** The limit first that is met first as the load grows. */
  readonly limits: readonly [LimitUse, ...LimitUse[]];
  readonly isEnough: boolean;
  /** At the peak. */
  readonly waiting: Waiting;
  /** Whether shards keep the bodies: larger ones go to R2, or are not kept. */
  readonly keepsBodies: boolean;
  /** Records that are alive at a time, and what one takes. */
  readonly records: number;
  readonly bytesPerRecord: number;
  /** Keys that are remembered at a time after their responses. */
  readonly rememberedKeys: number;
  /** Rows written for one key over its life, erasing and alarms included. */
  readonly rowsPerKey: number;
  readonly month: readonly MonthlyCost[];
  /** Of the month, the plan's own price included. */
  readonly dollars: number;
}

/** `givenShards` is `null` for the recommended number. */
export function planCapacity(load: Load, givenShards: number | null): Plan {
  const { requestsPerSecond, replays, spike, originMs, responseBytes, headerBytes, maxResponseBytes } = load;
  const { retentionMs, rememberMs } = load;
  const firstsPerSecond = requestsPerSecond * (1 - replays);
  const originSeconds = originMs / 1000;
  const records = (firstsPerSecond * retentionMs) / 1000;
  const rememberedKeys = (firstsPerSecond * Math.max(0, (rememberMs ?? 0) - retentionMs)) / 1000;
  const keepsBodies = responseBytes <= maxResponseBytes;
  const keptBytes = Math.max(0, (keepsBodies ? responseBytes : 0) + headerBytes - HEAD_BYTES);
  const size = bytesPerRecord(keptBytes);
  // What all shards together have to bear.
  const totals = {
    calls: firstsPerSecond * spike * originSeconds,
    requests: requestsPerSecond * spike,
    storage: records * size + rememberedKeys * REMEMBERED_BYTES,
  };
  const neededShards = Math.max(
    shardsNeeded(firstsPerSecond * spike, originSeconds),
    shardsFor(totals.requests, REQUESTS_PER_SECOND * ENOUGH.requests),
    shardsFor(totals.storage, STORAGE_BYTES * ENOUGH.storage),
  );
  const rounded = Math.max(DEFAULT_SHARDS, 2 ** Math.ceil(Math.log2(neededShards)));
  const recommendedShards = rounded > MAX_SHARDS ? null : rounded;
  const shards = givenShards ?? recommendedShards ?? neededShards;

  const use = (name: LimitUse["name"], limit: number): LimitUse => {
    const perShard = totals[name] / shards;
    const used = perShard / limit;
    const enough = ENOUGH[name];
    return { name, perShard, limit, used, enough, enoughUpToRequestsPerSecond: (requestsPerSecond / used) * enough };
  };
  const calls = use("calls", CALLS_AT_ONCE);
  const [first = calls, ...others] = [
    calls,
    use("requests", REQUESTS_PER_SECOND),
    use("storage", STORAGE_BYTES),
  ].toSorted((one, other) => other.used / other.enough - one.used / one.enough);

  const usage = add(
    firstUsage({ perSecond: firstsPerSecond, shards, originSeconds, responseBytes: keptBytes }),
    rememberMs === null ? NO_USAGE : REMEMBERED_USAGE,
  );
  const perSecond = add(times(usage, firstsPerSecond), times(replayUsage(), requestsPerSecond * replays));
  const month = monthOf(perSecond, totals.storage);
  return {
    load,
    peakRequestsPerSecond: totals.requests,
    neededShards,
    recommendedShards,
    shards,
    limits: [first, ...others],
    isEnough: shards >= neededShards,
    waiting: waiting(calls.perShard, originMs),
    keepsBodies,
    records,
    bytesPerRecord: size,
    rememberedKeys,
    rowsPerKey: usage.rowsWritten,
    month,
    dollars: month.reduce((sum, { dollars }) => sum + dollars, PLAN_DOLLARS),
  };
}

function times(usage: Usage, factor: number): Usage {
  return {
    workerRequests: usage.workerRequests * factor,
    objectRequests: usage.objectRequests * factor,
    rowsWritten: usage.rowsWritten * factor,
    rowsRead: usage.rowsRead * factor,
    objectSeconds: usage.objectSeconds * factor,
  };
}

function monthOf(perSecond: Usage, storageBytes: number): readonly MonthlyCost[] {
  return [
    costOf("workerRequest", perSecond.workerRequests * MONTH_SECONDS),
    costOf("objectRequest", perSecond.objectRequests * MONTH_SECONDS),
    costOf("rowWritten", perSecond.rowsWritten * MONTH_SECONDS),
    costOf("rowRead", perSecond.rowsRead * MONTH_SECONDS),
    costOf("gigabyteSecond", perSecond.objectSeconds * OBJECT_GIGABYTES * MONTH_SECONDS),
    costOf("gigabyteMonth", storageBytes / 1e9),
  ];
}

function costOf(what: Counted, amount: number): MonthlyCost {
  const { dollars, unit, included } = PRICES[what];
  return { what, amount, included, dollars: (Math.max(0, amount - included) / unit) * dollars };
}
