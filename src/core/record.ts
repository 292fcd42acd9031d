// The record: everything remembered about one key in one scope, as far as decisions depend on it. The stored response
// itself is the ledger's; here stands only whether it was kept, and its status.
//
//   claim                verdict                          expiresAt
//     │  lock (≤ lockMs)  │            retention            │
//     ├───────────────────┼─────────────────────────────────┤
//   started          completed                            (none)
//   started ── lockedUntil passes, no verdict ── failed | unknown ── lockedUntil + retention ── (none)

import type { AttemptId, DurationMs, EpochMs, Fingerprint } from "./units.ts";

/**
 * What follows an attempt whose outcome is not known: another attempt once its lock has ended, none, or the question to the
 * origin whether it took effect.
 */
export const UNKNOWN_RULES = ["retry", "hold", "verify"] as const;
export type UnknownRule = (typeof UNKNOWN_RULES)[number];

/** What a route asks of the life cycle. A record keeps the policy under which its attempt was claimed. */
export interface Policy {
  readonly unknown: UnknownRule;
  readonly lockMs: DurationMs;
  readonly retentionMs: DurationMs;
}

/** One try at the origin. */
export interface Attempt {
  /** Who may end the record. */
  readonly id: AttemptId;
  /** 1, 2, 3 …: the fencing token that the origin sees. It restarts when a record was erased, so it is no identity. */
  readonly number: number;
  readonly startedAt: EpochMs;
  /**
   * When the lock ends: with the attempt's result, at the latest. A living attempt renews it before; one that ends without a
   * word means that its shard lost the attempt.
   */
  readonly lockedUntil: EpochMs;
}

interface Remembered {
  readonly fingerprint: Fingerprint;
  readonly attempt: Attempt;
  readonly policy: Policy;
}

/** An attempt is in flight. */
export interface Started extends Remembered {
  readonly state: "started";
}

/** The last attempt had no effect, or may be repeated: the next request from `retryFrom` on starts another. */
export interface Failed extends Remembered {
  readonly state: "failed";
  readonly retryFrom: EpochMs;
  readonly expiresAt: EpochMs;
}

/** The last attempt may have taken effect, and the route forbids another one until somebody knows. */
export interface Unknown extends Remembered {
  readonly state: "unknown";
  /** When the origin is asked next whether the attempt took effect; `null` where nobody asks. */
  readonly verifyAt: EpochMs | null;
  /** How often it has been asked when that was due. */
  readonly verifications: number;
  readonly expiresAt: EpochMs;
}

/** The operation took effect; its first answer is the answer. */
export interface Completed extends Remembered {
  readonly state: "completed";
  readonly status: number;
  /** Whether the response is stored. One that was too large is not. */
  readonly kept: boolean;
  readonly completedAt: EpochMs;
  readonly expiresAt: EpochMs;
}

/** A finished, failed or unknown record expires; a started one does not, its lock ends. */
export type IdempotencyRecord = Started | Failed | Unknown | Completed;

export type RecordState = IdempotencyRecord["state"];

/** A record whose operation has no result, and is not being tried. */
export type OpenState = (Failed | Unknown)["state"];
