// What a consumer is answered about its claims. A claim is a lease: the consumer makes the attempt itself, so nobody can abort it, and
// only its id ends it. The life cycle decides about the record; this file reads its replies.

import { assertForClaimant, type LifeCycleReply } from "./events.ts";
import type { IdempotencyRecord, Started } from "./record.ts";
import { isResolved, lastEvent, type TimelineEvent } from "./timeline.ts";
import type { AttemptId, EpochMs } from "./units.ts";

/** How the name of a group of consumers begins among routes; no path begins like this. */
export const CONSUMER_LABEL = "claims:";

/** What a consumer may ask about a key. */
export const CLAIM_VERBS = ["claim", "extend", "complete", "release"] as const;
export type ClaimVerb = (typeof CLAIM_VERBS)[number];

/**
 * - `granted`: the attempt has the lock. `completed`: the operation took effect, and this is its result.
 * - `in-flight`: another attempt has the lock, or may still run. `unknown`: an earlier one may have taken effect, and an operator decides.
 * - `mismatch`: the key was used for something else. `unavailable`: the record cannot be reached; the same claim may be sent again.
 * - `settled`, `released`: the attempt ended with its result, or without one. `superseded`: the attempt is not the record's any more.
 */
export const CLAIM_STATES = [
  "granted",
  "completed",
  "in-flight",
  "unknown",
  "mismatch",
  "unavailable",
  "settled",
  "released",
  "superseded",
] as const;
export type ClaimState = (typeof CLAIM_STATES)[number];

export type ClaimWord =
  | { readonly state: "granted"; readonly record: Started }
  /** `completedAt`: `null` if only the key is left. */
  | { readonly state: "completed"; readonly attempt: number; readonly completedAt: EpochMs | null }
  | { readonly state: "in-flight"; readonly retryAfterMs: number }
  | { readonly state: Exclude<ClaimState, "granted" | "completed" | "in-flight"> };

/** The answer to `claim`. */
export function claimWord(reply: LifeCycleReply, now: EpochMs): ClaimWord {
  assertForClaimant(reply, "a claim");
  switch (reply.type) {
    case "start":
    case "granted-again":
      return { state: "granted", record: reply.record };
    case "replay":
    case "not-kept": {
      const { attempt, completedAt } = reply.record;
      return { state: "completed", attempt: attempt.number, completedAt };
    }
    case "in-flight":
      return { state: "in-flight", retryAfterMs: Math.max(0, reply.retryFrom - now) };
    case "outcome-unknown":
      return { state: "unknown" };
    case "key-expired": {
      const { status, attempt } = reply.record;
      return status === null
        ? { state: "unknown" }
        : { state: "completed", attempt: attempt.number, completedAt: null };
    }
    case "key-reused":
      return { state: "mismatch" };
    case "accepted":
      throw new TypeError(`a claim was answered with ${reply.type}`);
  }
}

/**
 * Whether the attempt may extend its lock. It also may after the lock has ended, if nobody has taken or decided anything since: its
 * holder is alive, and no other has begun. Not after its own release: an `extend` that comes late would block the key for nothing.
 */
export function mayExtend(record: IdempotencyRecord | null, history: readonly TimelineEvent[], id: AttemptId): boolean {
  if (record?.attempt.id !== id) return false;
  switch (record.state) {
    case "started":
      return true;
    case "failed":
    case "unknown": {
      const last = history.at(-1);
      return last?.type === "attempt" && last.verdict === "lost";
    }
    case "waiting":
    case "completed":
    case "remembered":
      return false;
  }
}

/** Whether the record has been completed by this attempt, whose answer may have been lost, and not by an operator. */
export function isCompletedBy(
  record: IdempotencyRecord | null,
  history: readonly TimelineEvent[],
  id: AttemptId,
): boolean {
  return record?.state === "completed" && record.attempt.id === id && !isResolved(history);
}

/** Whether the attempt has said already that it had no effect. */
export function isReleasedBy(
  record: IdempotencyRecord | null,
  history: readonly TimelineEvent[],
  id: AttemptId,
): boolean {
  const last = lastEvent(history);
  const isOpen = record?.state === "failed" && record.attempt.id === id;
  return isOpen && last?.type === "attempt" && last.verdict === "refused";
}
