// What an operator can see and do, whoever asks: the API and the console both stand on this. Times are milliseconds since the
// epoch here, and ISO 8601 text in the API.

import type { IdempotencyRecord, OpenState } from "../core/record.ts";
import type { Change, Happening } from "../core/timeline.ts";
import type { EpochMs, RecordId } from "../core/units.ts";
import type { HeaderPairs } from "../http/headers.ts";

export type RecordState = IdempotencyRecord["state"];

/** A record as a list shows it. As time has left it: a lock that has ended is not shown as held. */
export interface RecordSummary {
  readonly id: RecordId;
  readonly shard: string;
  /** The idempotency key. */
  readonly key: string;
  /** The path of its route, as configured when it was claimed. */
  readonly route: string;
  readonly state: RecordState;
  /** The number of the last attempt. */
  readonly attempt: number;
  readonly startedAt: EpochMs;
  /** No other attempt starts before. */
  readonly lockedUntil: EpochMs;
  /** `null` while an attempt is in flight. */
  readonly expiresAt: EpochMs | null;
  /** Of the result; `null` when there is none. */
  readonly status: number | null;
  /** Whether the response is replayed; `null` when there is none. */
  readonly responseKept: boolean | null;
}

/** One record, whole but for the bytes of its response. */
export interface RecordDetail extends RecordSummary {
  readonly fingerprint: string;
  readonly policy: IdempotencyRecord["policy"];
  /** Oldest first. */
  readonly timeline: readonly Happening[];
  readonly response: ResponseSummary | null;
}

export interface ResponseSummary {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  readonly sizeBytes: number;
}

/** Which records are listed; what is `null` is not asked for. */
export interface RecordFilter {
  /** Empty: all. */
  readonly states: readonly RecordState[];
  readonly route: string | null;
  /** The attempt began so long ago, at least. */
  readonly olderThanMs: number | null;
  readonly key: string | null;
  /** What its id begins with, of 8 digits or more: a log's `keyHash`, say. Not beside a key. */
  readonly idPrefix: string | null;
}

export interface RecordPage {
  readonly records: readonly RecordSummary[];
  /** Where the next page begins; `null` after the last. A page may be short, or empty, and not be the last. */
  readonly cursor: string | null;
  /** Shards that did not answer: what they hold is missing here. */
  readonly silent: readonly string[];
}

/** A change, by whom, and why. */
export interface ChangeRequest {
  readonly action: Change;
  readonly by: string;
  /** Written to the record's timeline. */
  readonly reason: string;
  /** With `resolve` alone: what is replayed from now on. */
  readonly response: GivenResponse | null;
}

export interface GivenResponse {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

export type ChangeResult =
  | { readonly kind: "changed"; readonly record: RecordDetail }
  | { readonly kind: "forgotten" }
  | { readonly kind: "refused"; readonly why: "none" }
  | { readonly kind: "refused"; readonly why: "completed" }
  /** Until the lock that is in the way ends; an attempt may end before. */
  | { readonly kind: "refused"; readonly why: "in-flight"; readonly retryAfterMs: number };

/** What would be lost, or waits for somebody. */
export interface ShardCounts {
  readonly shard: string;
  readonly inFlight: number;
  readonly failed: number;
  readonly unknown: number;
  /** Which of these numbers may be larger: counting ends at some thousands. */
  readonly atLeast: readonly OpenState[];
  /** Of its database. */
  readonly bytes: number;
}

export interface AllCounts {
  /** Those that answered. */
  readonly shards: readonly ShardCounts[];
  /** Those that did not. */
  readonly silent: readonly string[];
}

export interface Operator {
  /** Whether every route has an object for each key, so that records are found by their key alone. */
  readonly isPerKey: boolean;
  /**
   * `null` when there is no such place to begin. Goes on without shards that are silent, and does not ask those in `silent`, which
   * are known to be. Rejects when none answers; with a key, when one does not that may hold its records.
   */
  list(
    filter: RecordFilter,
    limit: number,
    cursor: string | null,
    silent?: readonly string[],
  ): Promise<RecordPage | null>;
  inspect(id: RecordId): Promise<RecordDetail | null>;
  /** The bytes of the response that a record keeps; `null` when it keeps none. Rejects without its shard, as all about one. */
  body(id: RecordId): Promise<ReadableStream<Uint8Array> | null>;
  change(id: RecordId, change: ChangeRequest): Promise<ChangeResult>;
  /** Names of headers that replays on a route leave out, in lower case: on any of its methods. */
  omittedHeaders(route: string): readonly string[];
  /** Which generation of the console's sessions is in force. Rejects without an answer: then nobody has a session. */
  sessions(): Promise<string>;
  /** Ends every one, at once. `by` is for the log. */
  endSessions(by: string): Promise<void>;
  /** Of each shard that can be enumerated: none where every key has an object of its own. */
  counts(): Promise<AllCounts>;
}
