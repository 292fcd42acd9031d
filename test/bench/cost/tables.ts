// The tables of the cost page.

import { COUNTS, ERASED_AT_ONCE } from "../../../src/cli/operation-counts.ts";
import {
  add,
  alarmUsage,
  dollarsPerMillion,
  FIRST_OVERHEAD_SECONDS,
  firstUsage,
  LOCK_SECONDS,
  NO_USAGE,
  REPLAY_SECONDS,
  replayUsage,
  type Usage,
  usageOf,
} from "../../../src/cli/plan-cost.ts";
import { ENOUGH, shardsNeeded } from "../../../src/cli/plan-queue.ts";
import { CALLS_AT_ONCE } from "../../../src/cli/prices.ts";

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

/** One object per key shares nothing: it pays for its tables, its origin's address and two alarms for one record. */
function perKeyUsage(originMs: number): Usage {
  const { tables, first, erased } = COUNTS;
  const own = usageOf(first, originMs / 1000 + FIRST_OVERHEAD_SECONDS);
  const once = { ...NO_USAGE, rowsWritten: tables.rowsWritten + 1, rowsRead: tables.rowsRead };
  const erasure = { ...NO_USAGE, objectRequests: 1, rowsWritten: erased.rowsWritten / ERASED_AT_ONCE };
  return [own, once, alarmUsage(1), erasure].reduce(add);
}

function cell(usage: Usage): string {
  const { requests, rows, duration, total } = dollarsPerMillion(usage);
  return `**${total.toFixed(2)}** (${requests.toFixed(2)} + ${rows.toFixed(2)} + ${duration.toFixed(2)})`;
}

export function assumptionsText(): string {
  return `Assumed: responses of 16 KiB or less, headers included, where no other size is given; first requests come at random, at the
rate given, over ${SHARDS} shards
(or as many as the formula below asks for), and those that overlap in a
shard share its duration (nothing is billed for an idle object); an exchange lasts as long as the origin takes, and
${FIRST_OVERHEAD_SECONDS * 1000} ms for two commits; a replay, which shares with nobody, ${REPLAY_SECONDS * 1000} ms; a lock of ${LOCK_SECONDS} s; nine buckets of records are alive. Erasing is
included. An accepted request has a small body, begins at once, and is looked at twice while it runs and once with its result. Left
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
    row("first, one object per key", (originMs) => cell(perKeyUsage(originMs))),
    row("replay", () => cell(replayed)),
    row("first or replay, a Worker and a Redis", () => `${cell(forwarded)} and 2,000,000 commands`),
    row("a Worker that only forwards", () => cell(forwarded)),
    row("no gateway", () => cell(NO_USAGE)),
  ].join("\n");
}

export function shardsTable(): string {
  return [
    `\`shards\` ≥ peak first requests per second × seconds until the origin's headers ÷ ${(CALLS_AT_ONCE * ENOUGH.calls).toFixed(1)}:`,
    "",
    `| peak first requests per second | ${ORIGINS_MS.map((ms) => `origin ${ms} ms`).join(" | ")} |`,
    "| --- | --- | --- | --- |",
    ...[10, 100, 1000, 5000].map(
      (rate) => `| ${rate} | ${ORIGINS_MS.map((ms) => shardsNeeded(rate, ms / 1000)).join(" | ")} |`,
    ),
  ].join("\n");
}
