// Records as operators see them (operator.ts), from what a shard says of them.

import { promiseIn } from "../kernel/record/record.ts";
import { readNote } from "../kernel/record/request-note.ts";
import { latestTime } from "../kernel/record/units.ts";
import type { SeenDetail } from "../kernel/object/operator-calls.ts";
import { shardTitle } from "../kernel/object/shard-address.ts";
import type { ListedRecord } from "./list.ts";
import type { RecordDetail, RecordSummary } from "./operator.ts";
import { reasonName } from "./views.ts";
import type { LayoutShardAddress } from "./shards.ts";

export function summaryOf({
  id,
  shard,
  layout,
  key,
  route,
  scopeDigest,
  note,
  record,
  reason,
}: ListedRecord): RecordSummary {
  const { state, attempt } = record;
  const isCompleted = state === "completed";
  return {
    id,
    shard,
    layout,
    key,
    encrypted: scopeDigest !== undefined,
    route,
    request: note === undefined ? null : requestOf(note),
    state,
    reason: reason === null ? null : reasonName(reason),
    attempt: attempt.number,
    startedAt: attempt.startedAt,
    // After a refusal nothing is running, whatever lock the attempt had.
    lockedUntil: latestTime(attempt.startedAt, state === "failed" ? record.retryFrom : attempt.lockedUntil),
    accepted: promiseIn(record) !== null,
    nextAttemptAt: state === "waiting" ? record.startAt : null,
    expiresAt: state === "started" || state === "waiting" ? null : record.expiresAt,
    status: isCompleted || state === "remembered" ? record.status : null,
    responseKept: isCompleted ? record.kept : null,
  };
}

function requestOf(note: string): RecordSummary["request"] {
  const { excerptUntil: _, ...request } = readNote(note);
  return request;
}

export function detailOf(detail: SeenDetail, address: LayoutShardAddress): RecordDetail {
  const { record, timeline, response, excerpt } = detail;
  const { fingerprint, policy } = record;
  const summary = summaryOf({ ...detail, shard: shardTitle(address), layout: address.layout });
  const promise = promiseIn(record);
  // A message waits for an operator without a limit.
  const isOpen = promise !== null && !(promise.isParked === true && record.state === "unknown");
  const { giveUpAt, lastAttempt } = isOpen ? promise : { giveUpAt: null, lastAttempt: null };
  return { ...summary, giveUpAt, lastAttempt, fingerprint, policy, excerpt, replays: null, timeline, response };
}
