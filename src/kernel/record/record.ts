// The record: everything remembered about one key in one scope that decisions depend on. The ledger stores the response
// itself; the record says only whether it was kept, and its status.
//
//   claim                verdict                          expiresAt
//     │  lock (≤ lockMs)  │            retention            │
//     ├───────────────────┼─────────────────────────────────┤
//   started          completed                            (none), or remembered ── completed + remember ── (none)
//   started ── lockedUntil passes, no verdict ── failed ── lockedUntil + retention ── (none), or remembered
//                                              unknown ── lockedUntil + unknownRetention ── (none), or remembered
//
// An accepted request is `waiting` before its first attempt and between two; startAt begins the next one.

import type { EventPublication } from "./outbox.ts";
import type { ParkedMessage } from "./parked-message.ts";
import { type AttemptId, type DurationMs, type EpochMs, type Fingerprint, fingerprint } from "./units.ts";

/**
 * What follows an attempt whose outcome is unknown. `hold`: no other attempt, until an operator decides. `verify`: a verification at
 * the origin whether the attempt took effect. `retry`: another attempt, once the lock has ended.
 */
export const UNKNOWN_RULES = ["hold", "verify", "retry"] as const;
export type UnknownRule = (typeof UNKNOWN_RULES)[number];

/** Which request may follow attempts that were all refused: the same one, or any with the key. */
export const AFTER_REFUSAL_RULES = ["same", "any"] as const;

/** When a shard tries a request that it has accepted, whose caller does not wait for it. */
export interface Schedule {
  /** The most attempts. */
  readonly attempts: number;
  /** The pause after the first attempt. It doubles with each further one. */
  readonly firstPauseMs: DurationMs;
  readonly longestPauseMs: DurationMs;
  /** No attempt begins later than this after the request was accepted, except the first. */
  readonly giveUpAfterMs: DurationMs;
}

/** A route's rules for the life cycle. A record keeps the policy under which its attempt was claimed. */
export interface Policy {
  readonly unknown: UnknownRule;
  readonly lockMs: DurationMs;
  readonly retentionMs: DurationMs;
  /** How long an `unknown` record waits for a decision: far longer than clients retry, because its expiry would let a retry run. */
  readonly unknownRetentionMs: DurationMs;
  /**
   * How long a key is remembered after its operation took effect, or may have: longer than `retentionMs`, and from the same moment
   * on. Absent: no longer than its record is kept otherwise.
   */
  readonly rememberMs?: DurationMs;
  /** Set if a key whose attempts were all refused takes another request, too. */
  readonly afterRefusal?: "any";
  /** When accepted requests are tried. Absent: the route accepts none. */
  readonly schedule?: Schedule;
  /** The events that a result has. Absent: none. */
  readonly publish?: readonly EventPublication[];
}

/** One call to the origin. */
export interface Attempt {
  /** Only the attempt with this id may end the record. */
  readonly id: AttemptId;
  /** 1, 2, 3 …: the fencing token that the origin sees. It restarts after a record is erased, so it identifies nothing. */
  readonly number: number;
  readonly startedAt: EpochMs;
  /**
   * When the lock ends. A running attempt renews its lock before that; its result ends the lock. A lock that ends without
   * either means that the shard lost the attempt.
   */
  readonly lockedUntil: EpochMs;
  /** Whether this attempt, or one before it, may have taken effect although it brought no result. */
  readonly mayHaveActed: boolean;
}

/** What a record has in every state. */
interface RecordBase {
  readonly fingerprint: Fingerprint;
  readonly attempt: Attempt;
  readonly policy: Policy;
}

/** What the shard promised when it accepted a request. The request is stored with the record. */
export interface Acceptance {
  readonly schedule: Schedule;
  readonly acceptedAt: EpochMs;
  /** No attempt begins later, except the first. */
  readonly giveUpAt: EpochMs;
  /** The number of the last attempt that may be made. */
  readonly lastAttempt: number;
  /** Set for a queue's message, which nobody would send again: it is never given up, but left to an operator. */
  readonly isParked?: true;
  /** Set with `isParked`, if the message's end without a settled result makes a dead letter. */
  readonly message?: ParkedMessage;
}

/** An attempt is in flight. */
export interface Started extends RecordBase {
  readonly state: "started";
  /** Absent: a client waits for the answer. */
  readonly accepted?: Acceptance;
}

/** An accepted request whose next attempt begins at `startAt`. If its attempt has the number 0, there has been none. */
export interface Waiting extends RecordBase {
  readonly state: "waiting";
  readonly accepted: Acceptance;
  readonly startAt: EpochMs;
}

/** The last attempt had no effect, or may be repeated: from `retryFrom` on, the next request starts another. */
export interface Failed extends RecordBase {
  readonly state: "failed";
  readonly retryFrom: EpochMs;
  readonly expiresAt: EpochMs;
}

/** The last attempt may have taken effect, and the route forbids another one until it is known. */
export interface Unknown extends RecordBase {
  readonly state: "unknown";
  /** When to ask the origin next whether the attempt took effect; `null` if the route does not ask. */
  readonly verifyAt: EpochMs | null;
  /** How many due verifications have been sent. */
  readonly verifications: number;
  readonly expiresAt: EpochMs;
  /** Set for an accepted request: the shard tries it again once it is known that nothing took effect. */
  readonly accepted?: Acceptance;
}

/** The operation took effect; its first answer is final. */
export interface Completed extends RecordBase {
  readonly state: "completed";
  /** `null`: it is encrypted with the response. */
  readonly status: number | null;
  /** Whether the response is stored. It is not if it was too large or could not be written. */
  readonly kept: boolean;
  readonly completedAt: EpochMs;
  readonly expiresAt: EpochMs;
}

/** The operation took effect, or may have. Its response is erased and only the key is left, so that a late duplicate starts nothing. */
export interface Remembered extends RecordBase {
  readonly state: "remembered";
  /** Of the result; `null` if none was ever known, or if there is none because the key was abandoned. */
  readonly status: number | null;
  readonly expiresAt: EpochMs;
}

/** In the place of the fingerprint of a key that its client has abandoned: no request has it. */
export const ABANDONED_KEY = fingerprint("abandoned");

/** Whether the key's client has abandoned it: no attempt took effect, and none begins any more. */
export function isAbandoned(record: IdempotencyRecord): boolean {
  return record.state === "remembered" && record.fingerprint === ABANDONED_KEY;
}

/** A started record does not expire: its lock ends. A waiting one does not either: its attempt begins. */
export type IdempotencyRecord = Waiting | Started | Failed | Unknown | Completed | Remembered;

/** A record that expires. */
export type ExpiringRecord = Exclude<IdempotencyRecord, Waiting | Started>;

export type RecordState = IdempotencyRecord["state"];

/** What the shard promised about the record's request, which is stored with it; `null`: nothing. */
export function promiseIn(record: IdempotencyRecord | null): Acceptance | null {
  return record !== null && "accepted" in record ? record.accepted : null;
}

/** Whether a record in this state has had its end: nothing but its expiry is left to come. */
export function isClosed(state: RecordState): boolean {
  return state === "completed" || state === "remembered";
}

/** A record without a result and without an attempt that is known to run. */
export const OPEN_STATES = ["failed", "unknown"] as const satisfies readonly (Failed | Unknown)["state"][];
export type OpenState = (typeof OPEN_STATES)[number];

/** The states whose records a shard counts, up to a limit. */
export const COUNTED_STATES = ["waiting", ...OPEN_STATES] as const;
export type CountedState = (typeof COUNTED_STATES)[number];
