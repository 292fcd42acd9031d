// The events that a record's state machine takes, and the replies that it gives. Only life-cycle.ts decides which reply
// follows which event.

import type { ParkedMessage } from "./parked-message.ts";
import type { Completed, Failed, IdempotencyRecord, Remembered, Started, Unknown, Waiting } from "./record.ts";
import type { AttemptId, DurationMs, EpochMs, Fingerprint } from "./units.ts";
import type { EndReason, NoResult } from "./verdict.ts";
import type { FindingEvidence } from "./verification-answer.ts";

export type LifeCycleEvent =
  /**
   * A request with the record's key and scope arrived. If it starts an attempt, that attempt gets `attemptId`. */
  | {
      readonly type: "request";
      readonly fingerprint: Fingerprint;
      /** The same request's fingerprint in another form, which an earlier record may have. */
      readonly otherFingerprint?: Fingerprint | undefined;
      readonly attemptId: AttemptId;
      /**
       * Set if the request is stored and its client does not wait: the first attempt begins at once, or it waits for its turn.
       * Without `schedule` in the policy it means nothing.
       */
      readonly accept?: "begin" | "wait" | undefined;
    }
  /**
   * A consumer that runs elsewhere claims the record, to make the attempt `attemptId` itself. It is a request whose own claim is
   * granted again, because its first answer may have been lost.
   */
  | {
      readonly type: "claim";
      readonly fingerprint: Fingerprint;
      readonly attemptId: AttemptId;
      readonly note: ClaimNote;
    }
  /** The time of an accepted request has come. If that starts an attempt, it gets `attemptId`. */
  | { readonly type: "due"; readonly attemptId: AttemptId }
  /** The time of an accepted request has come, and what is stored of it cannot be read: no attempt is made. */
  | { readonly type: "unreadable" }
  /** A queue's message, whose outcome is unknown, is to be stored with its record, for an operator. */
  | { readonly type: "park"; readonly fingerprint: Fingerprint; readonly message?: ParkedMessage }
  /** A monitor's client wants to know the outcome of the request whose fingerprint begins with `fingerprintPrefix`, or to cancel it. */
  | { readonly type: "look" | "cancel"; readonly fingerprintPrefix: string }
  /** The key's client gives it up: if no attempt may have taken effect or is in flight, none begins any more. */
  | { readonly type: "abandon" }
  /** The operation took effect. The answer is the attempt's own or, if `verified`, the origin's answer to a verification. */
  | {
      readonly type: "result";
      readonly attemptId: AttemptId;
      /** `null`: only the stored response tells it, to its caller. */
      readonly status: number | null;
      readonly kept: boolean;
      readonly verified: boolean;
      /** Only with `verified`: what of the answer said so. */
      readonly saw?: FindingEvidence | null;
    }
  /** The attempt ended: either the origin certainly did not act (`refused`), or it may have acted (`ambiguous`). */
  | {
      readonly type: NoResult;
      readonly attemptId: AttemptId;
      readonly reason: EndReason;
      /** Only for accepted requests. */
      readonly pause?: PauseAdvice | undefined;
    }
  /** The attempt is still running and needs its lock for longer. */
  | { readonly type: "renew"; readonly attemptId: AttemptId }
  /** Somebody wants to ask the origin whether the last attempt took effect. `settleMs`: as in `absent`. */
  | { readonly type: "verify"; readonly settleMs?: DurationMs }
  /**
   * The verification was sent at `verifiedAt`: the origin says that the operation had no effect. It counts if it was sent `settleMs` after the
   * end of the lock, or later: before, what the origin reads may lag behind what it has done. Absent: 0.
   */
  | {
      readonly type: "absent";
      readonly attemptId: AttemptId;
      readonly verifiedAt: EpochMs;
      readonly settleMs?: DurationMs;
      readonly saw?: FindingEvidence | null;
    }
  /** Only time has passed: the alarm applies what is due. */
  | { readonly type: "tick" }
  | OperatorEvent;

/** What a consumer says of its claim: for operators, and for its position. */
export interface ClaimNote {
  /** Which of the consumer's processes it is; `null`: it does not say. */
  readonly holder: string | null;
  /** Where the message is that the claim is about; `null`: in nothing that has positions. */
  readonly position: Position | null;
}

/** A place in one partition of a stream. */
export interface Position {
  readonly stream: string;
  readonly partition: number;
  readonly offset: number;
  /** The message before it, as the consumer reads them, so that one whose claim was lost is not passed. `null`: it does not say. */
  readonly previous?: number | null | undefined;
}

/** What the pause before the next attempt depends on, besides the attempts that have been made. */
export interface PauseAdvice {
  /** In [0, 1): spreads requests that failed together. */
  readonly jitter: number;
  /** When the origin wants to be asked again; `null`: it did not say. */
  readonly retryAfterMs: number | null;
}

/** What an operator decides about a record. `by` says who decided, `reason` says why. */
export type OperatorEvent =
  /** The next request may start another attempt. */
  | { readonly type: "release"; readonly by: string; readonly reason: string }
  /** The operation took effect. The operator supplies the response instead of the origin. */
  | { readonly type: "resolve"; readonly by: string; readonly reason: string; readonly status: number }
  /** The record is erased, as if it had never existed. */
  | { readonly type: "forget"; readonly by: string; readonly reason: string };

/** What an operator writes down about a record. Nothing happens to the record, so this is no event of its life cycle. */
export interface NoteEvent {
  readonly type: "note";
  readonly by: string;
  readonly text: string;
}

/** What an operator does to a record: decides, or writes something down. */
export type RecordEvent = OperatorEvent | NoteEvent;

/**
 * Why an operator cannot change a record: it does not exist, an attempt may still be running or the origin is being asked about it, it
 * has its final answer, or only its key is left.
 */
export type RefusedChange = "none" | "in-flight" | "completed" | "remembered";

export type LifeCycleReply =
  /** To a request, or when an accepted one is due: call the origin as this attempt. To a claim: the consumer makes it. */
  | { readonly type: "start"; readonly record: Started }
  /** To a claim: its attempt has the lock already. */
  | { readonly type: "granted-again"; readonly record: Started }
  /** To a request: answer from the record. */
  | { readonly type: "replay"; readonly record: Completed }
  /** To a request: the operation took effect, but its response was not kept. */
  | { readonly type: "not-kept"; readonly record: Completed }
  /** To a request: an attempt holds the lock, or held it and may still be running. No other starts before `retryFrom`. */
  | { readonly type: "in-flight"; readonly record: Started | Failed; readonly retryFrom: EpochMs }
  /** To a request: an earlier attempt may have taken effect, and the route forbids another one. */
  | { readonly type: "outcome-unknown"; readonly record: Unknown }
  /** To a request: it comes too late for the response, and the operation took effect, or may have. */
  | { readonly type: "key-expired"; readonly record: Remembered }
  /** To a request: the key was used for a different request. */
  | { readonly type: "key-reused" }
  /** To a request or a monitor: it has been accepted, and nobody waits for its outcome. `isNew`: by this request, to wait for its turn. */
  | { readonly type: "accepted"; readonly record: Waiting | Started; readonly isNew: boolean }
  /** To `park`: the message is stored with the record. */
  | { readonly type: "parked" }
  /** To a monitor: no attempt took effect, or another may be made, and none will be without another request. */
  | { readonly type: "given-up"; readonly record: Failed }
  /** To `abandon`: no request with this key starts an attempt any more. */
  | { readonly type: "abandoned" }
  /** To `abandon`: an attempt took effect, may have, or is in flight. Nothing has changed. */
  | { readonly type: "not-abandoned"; readonly record: IdempotencyRecord }
  /** To a monitor: there is no such record, or it is of another request. */
  | { readonly type: "unseen" }
  /** To `verify`: verify at the origin now. */
  | { readonly type: "verify"; readonly record: Unknown }
  /** To an attempt: it owns the record, and its event counts. */
  | { readonly type: "settled" }
  /** To an attempt: it no longer owns the record, so nothing changed. */
  | { readonly type: "superseded" }
  /** To an operator, or to a monitor that cancels: the change was made. */
  | { readonly type: "changed" }
  /** To an operator: the change was refused. */
  | { readonly type: "unchangeable"; readonly why: RefusedChange }
  /** To `tick`, to `verify` when there is nothing to ask, to `due` and `unreadable` when no attempt may begin, and to `park` when nothing is unknown. */
  | { readonly type: "nothing-due" };

/** What a record says that has no attempt in flight, and that starts none. */
export type OutcomeReply = Extract<
  LifeCycleReply,
  { readonly type: "replay" | "not-kept" | "outcome-unknown" | "key-expired" }
>;

/** The replies that a monitor can get; `changed` if it cancels. */
export type MonitorReply =
  | OutcomeReply
  | Extract<LifeCycleReply, { readonly type: "accepted" | "given-up" | "unseen" | "changed" }>;

const TO_MONITOR = {
  replay: true,
  "not-kept": true,
  "outcome-unknown": true,
  "key-expired": true,
  accepted: true,
  "given-up": true,
  unseen: true,
  changed: true,
} as const satisfies Record<MonitorReply["type"], true>;

/** The replies that neither a request nor a claim can get. */
type OtherReply = Extract<
  LifeCycleReply,
  {
    readonly type:
      | "given-up"
      | "abandoned"
      | "not-abandoned"
      | "unseen"
      | "parked"
      | "verify"
      | "settled"
      | "superseded"
      | "changed"
      | "unchangeable"
      | "nothing-due";
  }
>;

const TO_OTHERS = {
  "given-up": true,
  abandoned: true,
  "not-abandoned": true,
  unseen: true,
  parked: true,
  verify: true,
  settled: true,
  superseded: true,
  changed: true,
  unchangeable: true,
  "nothing-due": true,
} as const satisfies Record<OtherReply["type"], true>;

/** Throws unless the reply is one that whoever wants to begin an attempt can get; `who` is `a request` or `a claim`. */
export function assertForClaimant(
  reply: LifeCycleReply,
  who: string,
): asserts reply is Exclude<LifeCycleReply, OtherReply> {
  if (reply.type in TO_OTHERS) throw new TypeError(`${who} was answered with ${reply.type}`);
}

export function isToMonitor(reply: LifeCycleReply): reply is MonitorReply {
  return reply.type in TO_MONITOR;
}

export interface LifeCycleStep {
  /** The record after the event; `null` when there is none. If nothing changed, it is the same object as before. */
  readonly record: IdempotencyRecord | null;
  readonly reply: LifeCycleReply;
  /** When the record next changes without an event; `null` when there is no record. */
  readonly deadline: EpochMs | null;
}
