// A message that is stored with its record because its outcome is unknown, and the end of that: nobody else would tell its operators
// what became of it, because its queue has deleted it.

import type { DeadReason } from "./delivery.ts";
import { matchesStatus } from "./outbox.ts";
import type { StatusRule } from "./verdict.ts";
import { type IdempotencyRecord, promiseIn } from "./record.ts";
import type { EpochMs } from "./units.ts";

/** The forms in which a message's body may have come. */
export type BodyKind = "json" | "text" | "bytes";

/** Where a queue's dead letters go, and which results make none. */
export interface DeadLetterRule {
  readonly queue: string;
  /** The name of the binding that takes dead letters. */
  readonly binding: string;
  /** The statuses of results that settle a message. */
  readonly done: readonly StatusRule[];
}

/** What a dead letter says of its message, besides the body. */
export interface MessageFacts {
  readonly messageId: string;
  /** How often it had been delivered. */
  readonly deliveries: number;
  readonly firstSentAt: EpochMs;
  readonly bodyKind: BodyKind;
}

/** What the dead letter of a parked message needs, besides its body. */
export type ParkedMessage = DeadLetterRule & MessageFacts;

/** A parked message that has come to its end without having been settled. */
export interface DeadParkedMessage {
  readonly message: ParkedMessage;
  readonly reason: Extract<DeadReason, "rejected" | "exhausted" | "outcome-unknown">;
  /** Of the result; `null` without one. */
  readonly status: number | null;
}

/**
 * The parked message that dies with this step; `null`: none does. `isForgotten`: by somebody who wants that nothing is left of it, so
 * that it goes without a letter. One whose record had expired before is no longer there to be forgotten.
 */
export function deadParkedMessage(
  before: IdempotencyRecord | null,
  after: IdempotencyRecord | null,
  isForgotten: boolean,
): DeadParkedMessage | null {
  const message = promiseIn(before)?.message;
  if (before === null || message === undefined || promiseIn(after)?.message !== undefined) return null;
  if (isForgotten) return null;
  if (after?.state === "completed") {
    const { status } = after;
    return status === null || matchesStatus(status, message.done) ? null : { message, reason: "rejected", status };
  }
  // Its record has expired. An attempt in flight was lost before that.
  const mayHaveActed = before.state === "started" || before.attempt.mayHaveActed;
  return { message, reason: mayHaveActed ? "outcome-unknown" : "exhausted", status: null };
}
