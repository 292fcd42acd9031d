// What becomes of a decision about one record. Pure: it reads neither a clock nor a store.

import type { RefusedChange } from "../../../kernel/record/events.ts";
import type { IdempotencyRecord } from "../../../kernel/record/record.ts";
import {
  hasEndedSince,
  lastDecisionSince,
  type OperatorChange,
  type TimelineEvent,
} from "../../../kernel/record/timeline.ts";
import type { EpochMs } from "../../../kernel/record/units.ts";

/** `changed`: in a preview, it would be. */
export type RecordOutcome =
  | "changed"
  | "already"
  | "decided-since"
  | "began-since"
  | "ended-since"
  | Exclude<RefusedChange, "none">;

/** A record as it stands now. */
export interface DecidedAbout {
  readonly record: Pick<IdempotencyRecord, "state" | "attempt">;
  readonly timeline: readonly TimelineEvent[];
  /** Whether the response that it has is the one that the decision gives. */
  readonly hasResponse: boolean;
  /** Why the change would be refused; `null`: it would be made. */
  readonly whyNot: Exclude<RefusedChange, "none"> | null;
}

/**
 * ```text
 * ───── attempt ends ─────── since ──────────── now ───▶
 *       what was looked into │ what nobody has looked into: it is left
 *                            │ what this decision has done already: nothing is done twice
 * ```
 */
export function recordOutcome(
  { record, timeline, hasResponse, whyNot }: DecidedAbout,
  action: OperatorChange,
  since: EpochMs,
): RecordOutcome {
  const isResolved = action === "resolve" && record.state === "completed" && hasResponse;
  const last = lastDecisionSince(timeline, since);
  if (last !== null) return last === action && (action !== "resolve" || isResolved) ? "already" : "decided-since";
  // By an earlier run whose preview was another, or by the origin's own late answer.
  if (isResolved) return "already";
  if (record.attempt.startedAt > since) return "began-since";
  if (hasEndedSince(timeline, since)) return "ended-since";
  return whyNot ?? "changed";
}
