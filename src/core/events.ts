// The words of the life cycle: what may happen to a record, and what is replied to whom. What follows from what is decided in
// life-cycle.ts alone.

import type { Completed, Failed, IdempotencyRecord, Started, Unknown } from "./record.ts";
import type { AttemptId, EpochMs, Fingerprint } from "./units.ts";
import type { EndReason, NoResult } from "./verdict.ts";

export type LifeCycleEvent =
  /** A request with the record's key, in its scope. `attemptId` is for the attempt that it may start. */
  | { readonly type: "request"; readonly fingerprint: Fingerprint; readonly attemptId: AttemptId }
  /** The operation took effect, and this was its answer: the attempt's own, or (`verified`) the origin's when it was asked. */
  | {
      readonly type: "result";
      readonly attemptId: AttemptId;
      readonly status: number;
      readonly kept: boolean;
      readonly verified: boolean;
    }
  /** The attempt ended, and the origin certainly did not act; or nobody knows whether it did. */
  | { readonly type: NoResult; readonly attemptId: AttemptId; readonly reason: EndReason }
  /** The attempt is alive and needs its lock for longer. */
  | { readonly type: "renew"; readonly attemptId: AttemptId }
  /** The origin is to be asked whether the last attempt took effect. */
  | { readonly type: "verify" }
  /** The origin, asked at `askedAt`, knows of no such operation. */
  | { readonly type: "absent"; readonly attemptId: AttemptId; readonly askedAt: EpochMs }
  /** Nothing happened but time: the alarm looks. */
  | { readonly type: "look" }
  | OperatorEvent;

/** What an operator decides about a record, and why. */
export type OperatorEvent =
  /** Another attempt may start, with the next request. */
  | { readonly type: "release"; readonly by: string; readonly reason: string }
  /** The operation took effect, and a response is given in place of the origin's. */
  | { readonly type: "resolve"; readonly by: string; readonly reason: string; readonly status: number }
  /** There never was such a record. */
  | { readonly type: "forget"; readonly by: string; readonly reason: string };

/** Why a record is not changed: there is none, an attempt may be at work in the origin, or its answer stands. */
export type Unchangeable = "none" | "in-flight" | "completed";

export type Reply =
  /** To a request: call the origin as this attempt. */
  | { readonly type: "start"; readonly record: Started }
  /** To a request: answer from the record. */
  | { readonly type: "replay"; readonly record: Completed }
  /** To a request: it took effect, but its response was not kept. */
  | { readonly type: "not-kept"; readonly record: Completed }
  /** To a request: an attempt holds the lock, or held it and may still be at work. No other starts before `retryFrom`. */
  | { readonly type: "in-flight"; readonly record: Started | Failed; readonly retryFrom: EpochMs }
  /** To a request: an earlier attempt may have taken effect, and the route forbids to guess. */
  | { readonly type: "outcome-unknown"; readonly record: Unknown }
  /** To a request: the key was used for something else. */
  | { readonly type: "mismatch" }
  /** To `verify`: ask the origin now. */
  | { readonly type: "ask"; readonly record: Unknown }
  /** To an attempt: it owned the record, and its word now stands there. */
  | { readonly type: "settled" }
  /** To an attempt: the record is no longer its own; nothing changed. */
  | { readonly type: "superseded" }
  /** To an operator. */
  | { readonly type: "changed" }
  | { readonly type: "unchangeable"; readonly why: Unchangeable }
  /** To a look, and where there is nothing to ask. */
  | { readonly type: "seen" };

export interface Step {
  /** The record from now on; `null` when there is none. The same object as before when nothing changed. */
  readonly record: IdempotencyRecord | null;
  readonly reply: Reply;
  /** When time alone will next change the record; `null` when there is none. */
  readonly deadline: EpochMs | null;
}
