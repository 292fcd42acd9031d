// The arithmetic of the cost page. Pure: counts, prices and assumptions in, dollars out.

import type { OperationCounts } from "../../support/operation-counts.ts";
import { CALLS_AT_ONCE, OBJECT_GIGABYTES, PRICES } from "./prices.ts";

/** What one request costs in operations and in time. */
export interface Usage {
  readonly workerRequests: number;
  /** Alarms that fire included. */
  readonly objectRequests: number;
  /** Alarms that are set included. */
  readonly rowsWritten: number;
  readonly rowsRead: number;
  /** How long an object is active for it; it pays only its share of that time. */
  readonly objectSeconds: number;
}

export const NO_USAGE: Usage = { workerRequests: 0, objectRequests: 0, rowsWritten: 0, rowsRead: 0, objectSeconds: 0 };

/** The usage of a request through the gateway, its records' erasing apart. */
export function usageOf(counts: OperationCounts, objectSeconds: number): Usage {
  return {
    workerRequests: 1,
    objectRequests: counts.objectCalls,
    rowsWritten: counts.rowsWritten + counts.alarmsSet,
    rowsRead: counts.rowsRead,
    objectSeconds,
  };
}

export function add(one: Usage, other: Usage): Usage {
  return {
    workerRequests: one.workerRequests + other.workerRequests,
    objectRequests: one.objectRequests + other.objectRequests,
    rowsWritten: one.rowsWritten + other.rowsWritten,
    rowsRead: one.rowsRead + other.rowsRead,
    objectSeconds: one.objectSeconds + other.objectSeconds,
  };
}

/** What comes with `alarms` alarms: each is set, comes, and is set again. */
export function alarmUsage(alarms: number): Usage {
  return { ...NO_USAGE, objectRequests: alarms, rowsWritten: 2 * alarms };
}

/** Where the dollars go, for a million of such requests. */
export interface Dollars {
  readonly requests: number;
  readonly rows: number;
  readonly duration: number;
  readonly total: number;
}

export function dollarsPerMillion(usage: Usage): Dollars {
  const requests =
    usage.workerRequests * PRICES.workerRequest.dollars + usage.objectRequests * PRICES.objectRequest.dollars;
  const rows = usage.rowsWritten * PRICES.rowWritten.dollars + usage.rowsRead * PRICES.rowRead.dollars;
  const duration = usage.objectSeconds * OBJECT_GIGABYTES * PRICES.gigabyteSecond.dollars;
  return { requests, rows, duration, total: requests + rows + duration };
}

/**
 * The seconds of an object that one exchange pays: exchanges that overlap share them. `atOnce` is how many run in an object
 * on average while any does.
 */
export function shareOfSeconds(exchangeSeconds: number, atOnce: number): number {
  return exchangeSeconds / Math.max(1, atOnce);
}

/**
 * How many exchanges a shard runs at once while it runs any, when they come at random: Little's law gives the mean, and an
 * object with a mean of m is active for 1 - e^-m of the time (a queue with as many servers as it needs).
 */
export function exchangesAtOnce(perSecond: number, shards: number, exchangeSeconds: number): number {
  const mean = (perSecond * exchangeSeconds) / shards;
  return mean === 0 ? 1 : mean / (1 - Math.exp(-mean));
}

/**
 * How often the alarm of a lock comes for each first request. A claim sets it unless one is set already; it comes when the lock
 * would end, finds nothing, and is set to the end of the retention. So there is one for each lock's time and one pause.
 */
export function alarmsPerFirst(perSecond: number, shards: number, lockSeconds: number): number {
  return 1 / ((perSecond / shards) * lockSeconds + 1);
}

/** The fewest shards whose calls to the origin are not queued at this peak of first requests per second. */
export function shardsNeeded(peakPerSecond: number, originSeconds: number): number {
  // A hair below, so that what is whole but for rounding is not rounded up.
  return Math.max(1, Math.ceil((peakPerSecond * originSeconds) / CALLS_AT_ONCE - 1e-9));
}
