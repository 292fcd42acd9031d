// What an operator can see and do, whoever asks: the API and the console both stand on this. Times are milliseconds since the
// epoch here, and ISO 8601 text in the API.

import type { IdempotencyRecord } from "../core/record.ts";
import type { Change, Happening } from "../core/timeline.ts";
import type { EpochMs, RecordId } from "../core/units.ts";
import type { HeaderPairs } from "../http/headers.ts";
import type { ShardCountsView, TotalsView } from "./gateway-schema.ts";
import type { RecordPageView, RecordView, SummaryView } from "./record-schema.ts";

export type RecordState = IdempotencyRecord["state"];

/** A view of the API with its times as numbers. */
type WithEpochTimes<View> = {
  readonly [Name in keyof View]: Name extends `${string}At` | `${string}Until`
    ? EpochMs | Extract<View[Name], null>
    : View[Name];
};

/** A record as a list shows it, in the state that it has now: a lock that has ended is not shown as held. */
export interface RecordSummary extends WithEpochTimes<SummaryView> {
  readonly id: RecordId;
}

/** One record with its history, without the bytes of its response. */
export interface RecordDetail extends RecordSummary, Pick<RecordView, "fingerprint" | "response"> {
  readonly policy: IdempotencyRecord["policy"];
  /** Oldest first. */
  readonly timeline: readonly Happening[];
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

export interface RecordPage extends Omit<RecordPageView, "records"> {
  readonly records: readonly RecordSummary[];
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

/** What all shards have open: those that answered, and the names of those that did not. */
export type AllCounts = Pick<TotalsView, "shards" | "silent">;

export type OpenCounts = Omit<TotalsView, "shards" | "silent">;

/** The sum over shards. */
export function openCounts(shards: readonly ShardCountsView[]): OpenCounts {
  const sum = (of: "inFlight" | "failed" | "unknown"): number => shards.reduce((total, shard) => total + shard[of], 0);
  return {
    inFlight: sum("inFlight"),
    failed: sum("failed"),
    unknown: sum("unknown"),
    atLeast: (["failed", "unknown"] as const).filter((of) => shards.some(({ atLeast }) => atLeast.includes(of))),
  };
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
