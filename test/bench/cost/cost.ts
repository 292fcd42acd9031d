// What requests use and cost on Cloudflare: the arithmetic of the cost page. Pure: counts, prices and
// assumptions in, dollars out.

import { COUNTS, ERASED_AT_ONCE, type OperationCounts } from "./operation-counts.ts";
import { OBJECT_GIGABYTES, type Price, PRICES } from "./prices.ts";

/** What the gateway itself adds to an exchange: two commits for a first request, none for a replay. */
export const FIRST_OVERHEAD_SECONDS = 0.02;
export const REPLAY_SECONDS = 0.002;

/** The default of `lock`. */
export const LOCK_SECONDS = 40;

/** Rows that an alarm erases where there are many: ERASE_ROWS of src/kernel/store/bodies.ts. */
const ERASE_ROWS = 100;

/** The largest response, head included, in its record's row: IN_ROW_BYTES of src/kernel/store/response-rows.ts. */
const IN_ROW_BYTES = 16 * 1024;
/** A larger one is in rows of this size beside it: CHUNK_BYTES of src/kernel/store/bodies.ts. */
const CHUNK_BYTES = 256 * 1024;
/** What an alarm erases of responses: ERASE_BYTES of the same file. */
const ERASE_BYTES = 1 << 20;
/** The status and headers, as they are stored, that the sums below count for each response. */
export const HEAD_BYTES = 112;

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
  const { workerRequest, objectRequest, rowWritten, rowRead, gigabyteSecond } = PRICES;
  const requests = perMillion(workerRequest, usage.workerRequests) + perMillion(objectRequest, usage.objectRequests);
  const rows = perMillion(rowWritten, usage.rowsWritten) + perMillion(rowRead, usage.rowsRead);
  const duration = perMillion(gigabyteSecond, usage.objectSeconds * OBJECT_GIGABYTES);
  return { requests, rows, duration, total: requests + rows + duration };
}

function perMillion({ dollars, unit }: Price, amount: number): number {
  return (amount * 1e6 * dollars) / unit;
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

/** An object writes what it has counted once it is quiet, and while it is busy now and then: QUIET_MS and EVERY_MS of src/kernel/object/kept-counts.ts. */
const QUIET_SECONDS = 0.25;
const COUNTED_EVERY_SECONDS = 5;

/**
 * What counting costs each request, when they come at random: the time in which an idle object waits for another one, and a row if none
 * comes; otherwise its share of the rows of a busy object. So nearly a row when requests are rare, and hardly any when there are many.
 */
export function countingUsage(perSecond: number, shards: number, exchangeSeconds: number): Usage {
  const perObject = perSecond / shards;
  const leavesIdle = Math.exp(-perObject * exchangeSeconds);
  const isAlone = Math.exp(-perObject * QUIET_SECONDS);
  const isLast = leavesIdle * isAlone;
  const waits = perObject === 0 ? QUIET_SECONDS : (1 - isAlone) / perObject;
  return {
    ...NO_USAGE,
    rowsWritten: isLast + (1 - isLast) / (1 + perObject * COUNTED_EVERY_SECONDS),
    objectSeconds: leavesIdle * waits,
  };
}

export interface Shared {
  /** First requests in a second, over all shards. */
  readonly perSecond: number;
  readonly shards: number;
  readonly originSeconds: number;
  readonly responseBytes: number;
}

/** A first request among others, with its share of the alarms and the erasing of its record. */
export function firstUsage({ perSecond, shards, originSeconds, responseBytes }: Shared): Usage {
  const seconds = originSeconds + FIRST_OVERHEAD_SECONDS;
  const own = usageOf(COUNTS.firstAmongBuckets, shareOfSeconds(seconds, exchangesAtOnce(perSecond, shards, seconds)));
  const alarms = alarmUsage(alarmsPerFirst(perSecond, shards, LOCK_SECONDS));
  const chunks = { ...NO_USAGE, rowsWritten: chunksOf(responseBytes) };
  return [own, chunks, countingUsage(perSecond, shards, seconds), alarms, erasure(responseBytes)].reduce(add);
}

/** A replay from its object, which shares its duration with nobody. */
export function replayUsage(): Usage {
  return usageOf(COUNTS.replayAmongBuckets, REPLAY_SECONDS);
}

/** Per record: its rows, and its share of alarms that erase whole slices. */
export function erasure(responseBytes: number): Usage {
  const chunks = chunksOf(responseBytes);
  const alarms = Math.max((1 + chunks) / ERASE_ROWS, responseBytes / ERASE_BYTES);
  return {
    ...NO_USAGE,
    objectRequests: alarms,
    // A body that is erased slice by slice is noted when its record goes, and the note is erased with its last chunk.
    rowsWritten: COUNTS.erased.rowsWritten / ERASED_AT_ONCE + alarms + chunks + (responseBytes > ERASE_BYTES ? 2 : 0),
    rowsRead: COUNTS.erased.rowsRead / ERASED_AT_ONCE,
  };
}

/** The rows of a response beside its record's row. */
export function chunksOf(responseBytes: number): number {
  return HEAD_BYTES + responseBytes <= IN_ROW_BYTES ? 0 : Math.ceil(responseBytes / CHUNK_BYTES);
}

/** A record's row without its response, with its share of half-empty pages. */
const RECORD_BYTES = 950;
/** The same without these pages. */
const COLUMN_BYTES = 344;

/** How full SQLite leaves the pages of rows that come in any order; those in order fill theirs. */
const FULLNESS = 0.75;

/** What a record takes of its object's storage (measured: test/kernel/integration/store/record-size.test.ts). */
export function bytesPerRecord(responseBytes: number): number {
  if (chunksOf(responseBytes) === 0) return bytesOfRow(COLUMN_BYTES + HEAD_BYTES + responseBytes, FULLNESS);
  const whole = Math.floor(responseBytes / CHUNK_BYTES);
  const rest = responseBytes % CHUNK_BYTES;
  return RECORD_BYTES + whole * bytesOfChunk(CHUNK_BYTES) + (rest === 0 ? 0 : bytesOfChunk(rest));
}

/** What is left of a record whose key is remembered. */
export const REMEMBERED_BYTES = bytesOfRow(COLUMN_BYTES, FULLNESS);

function bytesOfChunk(bodyBytes: number): number {
  return bytesOfRow(HEAD_BYTES + bodyBytes, 1);
}

/**
 * Pages of a row in a table with an integer key, by SQLite's rules for what of a row lies in its leaf and what in overflow pages
 * (https://www.sqlite.org/fileformat2.html, section 1.6): U = 4096, X = 4061, M = 489.
 */
function bytesOfRow(payload: number, fullness: number): number {
  const remainder = 489 + ((payload - 489) % 4092);
  const inLeaf = payload <= 4061 ? payload : remainder <= 4061 ? remainder : 489;
  const overflowPages = Math.ceil((payload - inLeaf) / 4092);
  // Each cell has a header; cells do not go over the end of their page.
  const cellsInLeaf = Math.max(1, fullness * Math.floor(4080 / (inLeaf + 16)));
  return 4096 / cellsInLeaf + overflowPages * 4096;
}
