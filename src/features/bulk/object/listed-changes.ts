// Changes records that an operator has found in a list: several in one short turn, each as it is changed alone (record-steps.ts). The
// list may be older than the records, so one that is not any more what the list said is left.

import { changeRecord } from "../../../kernel/object/operator-calls.ts";
import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { rawCall, respondToCall } from "../../../kernel/call.ts";
import type { RecordEvent, RefusedChange } from "../../../kernel/record/events.ts";
import type { IdempotencyRecord } from "../../../kernel/record/record.ts";
import { hasEndedSince, lastDecisionSince, type TimelineEvent, timelineOf } from "../../../kernel/record/timeline.ts";
import { type EpochMs, epochMs, type RecordId } from "../../../kernel/record/units.ts";
import type { HeaderPairs } from "../../../kernel/request/headers.ts";
import { decodeMessage } from "../../../kernel/request/message.ts";
import type { RecordSteps } from "../../../kernel/object/record-steps.ts";
import type { Entry, Ledger } from "../../../kernel/store/ledger.ts";
import { readOrReport } from "../../../kernel/store/unreadable.ts";
import type { StoredResponse } from "../../../kernel/store/response-rows.ts";

/** Where such calls are sent. */
export const CHANGE_LISTED_CALL = rawCall("change-listed");

/** A record as the list showed it. */
export interface ListedState {
  readonly id: RecordId;
  readonly state: IdempotencyRecord["state"];
  /** The number of the last attempt. */
  readonly attempt: number;
  readonly startedAt: EpochMs;
}

/** The head of a message that changes listed records. With `resolve`, the message's body is the body of every response. */
export interface ListedChangeHead {
  readonly records: readonly ListedState[];
  readonly event: RecordEvent;
  readonly headers: HeaderPairs;
  /** Only says what would be done. */
  readonly isPreview: boolean;
  /** What an operator has changed since is left. A Worker's time: by as much as the object's clock is behind, a change may be made twice. */
  readonly since: EpochMs;
}

/**
 * What became of a record, or would. `skipped`: it is not what the list showed. `decided`: an operator has changed it since; this is how
 * a record looks that an earlier call has changed, and that the list shows again in its new place.
 */
export type ListedOutcome = "changed" | "skipped" | "decided" | Exclude<RefusedChange, "none">;

export interface ListedChangePorts {
  readonly ledger: Pick<Ledger, "find">;
  readonly steps: Pick<RecordSteps, "see" | "change" | "note" | "whyNot">;
}

/** Answers with an outcome for each record, in their order. */
export async function changeListed(request: Request, ports: ListedChangePorts): Promise<Response> {
  const { head, body: bytes } = decodeMessage<ListedChangeHead>(new Uint8Array(await request.arrayBuffer()));
  const body = { kind: "inline", bytes } as const;
  const { event, headers } = head;
  const response = event.type === "resolve" ? { status: event.status, statusText: "", headers, body } : null;
  return Response.json(head.records.map((listed) => changeOne(listed, head, response, ports)));
}

function changeOne(
  listed: ListedState,
  { event, isPreview, since }: ListedChangeHead,
  response: StoredResponse | null,
  { ledger, steps }: ListedChangePorts,
): ListedOutcome {
  const { id } = listed;
  // One that cannot be read stands in the way of no other: it can only be forgotten alone.
  const entry = readOrReport(() => ledger.find(id), { recordId: id });
  const record = entry === null ? null : steps.see(id, entry.record, epochMs(Date.now()));
  if (entry === null || record === null || !isAsListed(record, listed)) return "skipped";
  if (isDone(entry.history, event, since)) return "decided";
  if (event.type !== "note" && hasEndedSince(timelineOfNow(entry, record), since)) return "skipped";
  const why = isPreview ? steps.whyNot(id, event) : change(steps, id, event, response);
  if (why === null) return "changed";
  return why === "none" ? "skipped" : why;
}

function isAsListed({ state, attempt }: IdempotencyRecord, listed: ListedState): boolean {
  return state === listed.state && attempt.number === listed.attempt && attempt.startedAt === listed.startedAt;
}

/** The stored record says how an attempt was lost. One that is still started here shows that its attempt is alive. */
function timelineOfNow({ history, record: stored }: Entry, record: IdempotencyRecord): readonly TimelineEvent[] {
  return timelineOf(history, record.state === "started" ? record : stored, epochMs(Date.now()));
}

function change(
  steps: ListedChangePorts["steps"],
  id: RecordId,
  event: RecordEvent,
  response: StoredResponse | null,
): RefusedChange | null {
  return event.type === "note" ? steps.note(id, event) : changeRecord(steps, id, event, response);
}

/** Whether it has been done since: of a note, the same one; of a decision, any. */
function isDone(history: readonly TimelineEvent[], event: RecordEvent, since: EpochMs): boolean {
  if (event.type !== "note") return lastDecisionSince(history, since) !== null;
  const { by, text } = event;
  return history.some((past) => past.type === "note" && past.at >= since && past.text === text && past.by === by);
}

export function bulkObject(kernel: ObjectKernel): ObjectFeature {
  return { name: "bulk", calls: [respondToCall(CHANGE_LISTED_CALL, (request) => changeListed(request, kernel))] };
}
