// Records, and the counts of shards, as the API shows them: times as ISO 8601 text, and why an attempt ended in one word. The types are those of
// record-schema.ts and gateway-schema.ts.

import { describeRecord } from "../kernel/record/describe-record.ts";
import type { TimelineEvent, UnknownReason } from "../kernel/record/timeline.ts";
import { type EpochMs, epochMs, keyHashOf } from "../kernel/record/units.ts";
import { shardTitle } from "../kernel/object/shard-address.ts";
import type { ExchangeReport } from "../kernel/traffic/traffic.ts";
import type { ExchangeView, LayoutView, ShardCountsView } from "./gateway-schema.ts";
import type { LayoutSummary } from "./layouts.ts";
import type { RecordDetail, RecordSummary } from "./operator.ts";
import type { EventView, RecordView, SummaryView } from "./record-schema.ts";
import type { LayoutShardAddress } from "./shards.ts";

export function viewSummary(record: RecordSummary): SummaryView {
  const { startedAt, lockedUntil, expiresAt, nextAttemptAt, ...rest } = record;
  return {
    ...rest,
    startedAt: isoTime(startedAt),
    lockedUntil: isoTime(lockedUntil),
    nextAttemptAt: nextAttemptAt === null ? null : isoTime(nextAttemptAt),
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
  };
}

export function viewLayout({ lastExpiresAt, ...layout }: LayoutSummary): LayoutView {
  return { ...layout, lastExpiresAt: lastExpiresAt === null ? null : isoTime(lastExpiresAt) };
}

export function viewDetail(record: RecordDetail, now: EpochMs): RecordView {
  const { giveUpAt, lastAttempt, fingerprint, policy, excerpt, replays, timeline, response, ...summary } = record;
  const { headline, retry, advice, changes } = describeRecord(record, timeline, now);
  const description = { headline, retry, advice, changes };
  // What is published is the outbox's to show.
  const { publish: _, ...rules } = policy;
  return {
    ...viewSummary(summary),
    description,
    giveUpAt: giveUpAt === null ? null : isoTime(giveUpAt),
    lastAttempt,
    fingerprint,
    policy: rules,
    replays: replays === null ? null : { count: replays.count, lastAt: isoTime(epochMs(replays.lastAt)) },
    excerpt: excerpt === null ? null : { text: excerpt.text, keptUntil: isoTime(epochMs(excerpt.until)) },
    timeline: timeline.map(viewEvent),
    response,
  };
}

function viewEvent(event: TimelineEvent): EventView {
  switch (event.type) {
    case "attempt": {
      const { startedAt, endedAt, reason, ...rest } = event;
      return {
        ...rest,
        startedAt: isoTime(startedAt),
        endedAt: endedAt === null ? null : isoTime(endedAt),
        reason: reason === null ? null : reasonName(reason),
      };
    }
    case "verification": {
      const { at, countsFrom, ...rest } = event;
      const from = countsFrom === undefined ? null : { countsFrom: countsFrom === null ? null : isoTime(countsFrom) };
      return { ...rest, at: isoTime(at), ...from };
    }
    case "claim":
    case "note":
    case "change": {
      const { at, ...rest } = event;
      return { ...rest, at: isoTime(at) };
    }
  }
}

/** `keyHash` is the key's name in logs. */
export function viewExchange(report: ExchangeReport): ExchangeView {
  const { at, recordId: id, route, outcome, status, attempt, durationMs, originMs } = report;
  return {
    at: isoTime(at),
    route,
    keyHash: id === null ? null : keyHashOf(id),
    recordId: id,
    outcome,
    status,
    attempt,
    durationMs: Math.round(durationMs),
    originMs: originMs === null ? null : Math.round(originMs),
  };
}

/** In the words of the problem codes; a status is `status-504`, and a body `body-200: /error/code`. */
export function reasonName(reason: UnknownReason): string {
  switch (reason.kind) {
    case "lost":
      return "attempt-lost";
    case "status":
      return `status-${reason.status}`;
    case "body":
      return `body-${reason.status}: ${reason.at}`;
    case "unreachable":
      return "origin-unreachable";
    case "dropped":
      return "origin-dropped";
    case "timed-out":
      return "origin-timeout";
    case "said":
      return `consumer: ${reason.text}`;
  }
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** A shard's counts, with its own place among its places. */
type ShownCounts = Omit<ShardCountsView, "shard" | "layout" | "place"> & {
  readonly places?: Readonly<Record<string, number>>;
};

export function viewGatheredShard(address: LayoutShardAddress, counts: ShownCounts): ShardCountsView {
  return viewShard(shardTitle(address), address.layout, counts);
}

export function viewShard(shard: string, layout: string, counts: ShownCounts): ShardCountsView {
  const { inFlight, failed, unknown, atLeast, bytes, waiting } = counts;
  const { oldestMs, oldestUnknownMs, oldestWaitingMs, placesTaken } = counts;
  const open = { inFlight, waiting, failed, unknown, atLeast };
  const [place = null] = Object.keys(counts.places ?? {});
  return { shard, layout, ...open, oldestMs, oldestUnknownMs, oldestWaitingMs, placesTaken, bytes, place };
}
