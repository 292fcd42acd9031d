// The tables of the cost page.

import { COUNTS, ERASED_AT_ONCE } from "./operation-counts.ts";
import {
  add,
  alarmsPerFirst,
  alarmUsage,
  bytesPerRecord,
  dollarsPerMillion,
  erasure,
  exchangesAtOnce,
  FIRST_OVERHEAD_SECONDS,
  firstUsage,
  HEAD_BYTES,
  LOCK_SECONDS,
  NO_USAGE,
  REPLAY_SECONDS,
  replayUsage,
  shareOfSeconds,
  type Usage,
  usageOf,
} from "./cost.ts";
import { ENOUGH, shardsNeeded } from "./waiting.ts";
import { PRICES, STORAGE_BYTES } from "./prices.ts";

const SHARDS = 64;
const ORIGINS_MS = [100, 300, 2000] as const;
const RATES = [10, 100, 1000] as const;

/** A first request with a response that fits its record's row or is apart, shared by so many in a second. */
function sharedUsage(originMs: number, perSecond: number, responseBytes = 0): Usage {
  const originSeconds = originMs / 1000;
  const shards = Math.max(SHARDS, shardsNeeded(perSecond, originSeconds));
  return firstUsage({ perSecond, shards, originSeconds, responseBytes });
}

/** An accepted request with a small body that is begun at once, and three looks at its monitor: two while it runs, one with its result. */
function acceptedUsage(originMs: number, perSecond: number): Usage {
  const { accepted, first, lookAtRunning } = COUNTS;
  const more = { ...NO_USAGE, rowsRead: accepted.rowsRead - first.rowsRead };
  const look = usageOf(lookAtRunning, REPLAY_SECONDS);
  return [sharedUsage(originMs, perSecond), more, look, look, replayUsage()].reduce(add);
}

/** How long a webhook takes to answer, and a queue to take an event. */
const HOOK_SECONDS = 0.1;
const QUEUE_SECONDS = 0.02;

/** The alarm that looks after an event comes before that of a lock: CHECK_AFTER_MS of src/features/outbox/object/relay.ts. */
const EVENT_CHECK_SECONDS = 30;

/** What a result costs more that has one event, taken at the first try. */
function eventUsage(originMs: number, perSecond: number, takenSeconds: number): Usage {
  const { published, first } = COUNTS;
  const seconds = originMs / 1000 + FIRST_OVERHEAD_SECONDS;
  const share = (all: number): number => shareOfSeconds(all, exchangesAtOnce(perSecond, SHARDS, all));
  const alarms =
    alarmsPerFirst(perSecond, SHARDS, EVENT_CHECK_SECONDS) - alarmsPerFirst(perSecond, SHARDS, LOCK_SECONDS);
  const more = {
    ...NO_USAGE,
    rowsWritten: published.rowsWritten - first.rowsWritten,
    rowsRead: published.rowsRead - first.rowsRead,
    objectSeconds: share(seconds + takenSeconds) - share(seconds),
  };
  return add(more, alarmUsage(alarms));
}

/** The default of a group's `lock`. */
const CLAIM_LOCK_SECONDS = 60;
/** A claim and its completion wait for a commit each. */
const COMMIT_SECONDS = 0.01;
const BATCH = 100;
/** How many of the shards have a key of a batch, on average. */
const SHARDS_OF_BATCH = SHARDS * (1 - (1 - 1 / SHARDS) ** BATCH);

/** A batch of completions writes the position of their partition once. */
const POSITION_ROWS = COUNTS.settledAtPosition.rowsWritten - COUNTS.settled.rowsWritten;

/** A claim and its completion, `inRequest` of them in each request, which goes to so many objects, of all that there are. */
function claimUsage(
  perSecond: number,
  inRequest: number,
  calledObjects: number,
  objects = SHARDS,
  positionRows = 0,
): Usage {
  const { claimed, settled } = COUNTS;
  const calls = (2 * calledObjects) / inRequest;
  const seconds = shareOfSeconds(COMMIT_SECONDS, exchangesAtOnce(calls * perSecond, objects, COMMIT_SECONDS));
  const own = {
    workerRequests: 2 / inRequest,
    objectRequests: calls,
    rowsWritten: claimed.rowsWritten + settled.rowsWritten + positionRows,
    rowsRead: claimed.rowsRead + settled.rowsRead,
    objectSeconds: calls * seconds,
  };
  return [own, alarmUsage(alarmsPerFirst(perSecond, objects, CLAIM_LOCK_SECONDS)), erasure(0)].reduce(add);
}

/** One object per key shares nothing: it pays for its tables, its origin's address and two alarms for one record. */
function perKeyUsage(originMs: number): Usage {
  const { tables, first, erased } = COUNTS;
  const own = usageOf(first, originMs / 1000 + FIRST_OVERHEAD_SECONDS);
  const once = { ...NO_USAGE, rowsWritten: tables.rowsWritten + 1, rowsRead: tables.rowsRead };
  const alarm = { ...NO_USAGE, objectRequests: 1, rowsWritten: erased.rowsWritten / ERASED_AT_ONCE };
  return [own, once, alarmUsage(1), alarm].reduce(add);
}

function cell(usage: Usage, queueOperations = 0): string {
  const { rows, duration, ...used } = dollarsPerMillion(usage);
  const queue = queueOperations * PRICES.queueOperation.dollars;
  const [requests, total] = [used.requests + queue, used.total + queue];
  return `**${total.toFixed(2)}** (${requests.toFixed(2)} + ${rows.toFixed(2)} + ${duration.toFixed(2)})`;
}

export function assumptionsText(): string {
  return `Assumed: responses of 16 KiB or less, headers included, where no other size is given; first requests come at random, at the
rate given, over ${SHARDS} shards
(or as many as the load needs, below), and those that overlap in a
shard share its duration (nothing is billed for an idle object); an exchange lasts as long as the origin takes, and
${FIRST_OVERHEAD_SECONDS * 1000} ms for two commits; a replay, which shares with nobody, ${REPLAY_SECONDS * 1000} ms; a lock of ${LOCK_SECONDS} s; nine buckets of records are alive. Erasing is
included. A webhook takes ${HOOK_SECONDS * 1000} ms for an event, a queue ${QUEUE_SECONDS * 1000} ms and one operation; whoever consumes the queue
pays two more. A claim and its completion are two requests of ${COMMIT_SECONDS * 1000} ms each, with a lock of ${CLAIM_LOCK_SECONDS} s; what the consumer does between
them costs nothing here. A batch is ${BATCH} claims, in ${Math.round(SHARDS_OF_BATCH)} shards, or in the one object of a partition that gets 100 a
second. An accepted request has a small body, begins at once, and is looked at twice while it runs and once with its result. Left
out: the Worker's processor time, what the monthly plan includes, and R2. A Redis is counted in commands, whose price
is its seller's: SET NX and SET for a first request, SET NX and GET for a replay.`;
}

/** Dollars per million, and where they go. */
export function costTable(): string {
  const row = (name: string, text: (originMs: number) => string): string =>
    `| ${name} | ${ORIGINS_MS.map(text).join(" | ")} |`;
  const replayed = replayUsage();
  const forwarded = usageOf(COUNTS.unprotected, 0);
  return [
    `| dollars per million (requests + rows + duration) | ${ORIGINS_MS.map((ms) => `origin ${ms} ms`).join(" | ")} |`,
    "| --- | --- | --- | --- |",
    ...RATES.map((perSecond) =>
      row(`first, shared shards, ${perSecond} a second`, (originMs) => cell(sharedUsage(originMs, perSecond))),
    ),
    row("first, 100 a second, responses of 20 kB", (originMs) => cell(sharedUsage(originMs, 100, 20_000))),
    ...[10, 1000].map((perSecond) =>
      row(`accepted, with 3 looks at its monitor, ${perSecond} a second`, (originMs) =>
        cell(acceptedUsage(originMs, perSecond)),
      ),
    ),
    ...[10, 1000].map((perSecond) =>
      row(`more for an event to a webhook, ${perSecond} a second`, (originMs) =>
        cell(eventUsage(originMs, perSecond, HOOK_SECONDS)),
      ),
    ),
    row("more for an event to a queue, 1000 a second", (originMs) =>
      cell(eventUsage(originMs, 1000, QUEUE_SECONDS), 1),
    ),
    ...[10, 1000].map((perSecond) =>
      row(`claim and completion, ${perSecond} a second`, () => cell(claimUsage(perSecond, 1, 1))),
    ),
    row(`claim and completion, 1000 a second, in batches of ${BATCH}`, () =>
      cell(claimUsage(1000, BATCH, SHARDS_OF_BATCH)),
    ),
    row(`claim and completion with a position, in batches of ${BATCH}`, () =>
      cell(claimUsage(100, BATCH, 1, 1, POSITION_ROWS / BATCH)),
    ),
    row("first, one object per key", (originMs) => cell(perKeyUsage(originMs))),
    row("replay", () => cell(replayed)),
    row("first or replay, a Worker and a Redis", () => `${cell(forwarded)} and 2,000,000 commands`),
    row("a Worker that only forwards", () => cell(forwarded)),
    row("no gateway", () => cell(NO_USAGE)),
  ].join("\n");
}

export function shardsTable(): string {
  return [
    `| peak first requests per second | ${ORIGINS_MS.map((ms) => `origin ${ms} ms`).join(" | ")} |`,
    "| --- | --- | --- | --- |",
    ...[10, 100, 1000, 5000].map(
      (rate) => `| ${rate} | ${ORIGINS_MS.map((ms) => shardsNeeded(rate, ms / 1000)).join(" | ")} |`,
    ),
  ].join("\n");
}

/** Responses with their headers. */
const RESPONSES = { "500 B": 500, "4 kB": 4000, "20 kB": 20_000, "1 MB": 1e6 };

export function storageTable(): string {
  return [
    `| a response with its headers | a record takes | records that ${SHARDS} shards hold |`,
    "| --- | --- | --- |",
    ...Object.entries(RESPONSES).map(([name, bytes]) => {
      const size = bytesPerRecord(bytes - HEAD_BYTES);
      const records = (SHARDS * STORAGE_BYTES * ENOUGH.storage) / size / 1e6;
      return `| ${name} | ${(size / 1000).toFixed(1)} kB | ${records.toFixed(records < 10 ? 1 : 0)} million |`;
    }),
  ].join("\n");
}
