// Records as the API shows them: times as ISO 8601 text, and why an attempt ended in one word.

import { describeRecord } from "../core/describe-record.ts";
import type { Happening } from "../core/timeline.ts";
import { type EpochMs, keyHashOf } from "../core/units.ts";
import type { ExchangeReport } from "../traffic/traffic.ts";
import type { RecordDetail, RecordSummary } from "./operator.ts";
import type { EndReason } from "../core/verdict.ts";

export function viewSummary(record: RecordSummary): object {
  const { startedAt, lockedUntil, expiresAt, ...rest } = record;
  return { ...rest, ...times({ startedAt, lockedUntil, expiresAt }) };
}

export function viewDetail(record: RecordDetail, now: EpochMs): object {
  const { fingerprint, policy, timeline, response, ...summary } = record;
  const { headline, retry, advice, changes } = describeRecord(record, timeline, now);
  const description = { headline, retry, advice, changes };
  return { ...viewSummary(summary), description, fingerprint, policy, timeline: timeline.map(viewHappening), response };
}

export function viewHappening(happening: Happening): object {
  switch (happening.type) {
    case "attempt": {
      const { startedAt, endedAt, reason, ...rest } = happening;
      return { ...rest, ...times({ startedAt, endedAt }), reason: reason === null ? null : viewReason(reason) };
    }
    case "verification":
    case "change": {
      const { at, ...rest } = happening;
      return { ...rest, ...times({ at }) };
    }
  }
}

/** `keyHash` is what logs call the key by. */
export function viewExchange(report: ExchangeReport): object {
  const { at, recordId: id, route, outcome, status, attempt, durationMs, originMs } = report;
  return {
    at: new Date(at).toISOString(),
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

/** In the words of the problem codes; a status as `status-504`. */
function viewReason(reason: EndReason): string {
  switch (reason.kind) {
    case "status":
      return `status-${reason.status}`;
    case "unreachable":
      return "origin-unreachable";
    case "dropped":
      return "origin-dropped";
    case "timed-out":
      return "origin-timeout";
  }
}

function times(values: Readonly<Record<string, EpochMs | null>>): object {
  return Object.fromEntries(
    Object.entries(values).map(([name, at]) => [name, at === null ? null : new Date(at).toISOString()]),
  );
}
