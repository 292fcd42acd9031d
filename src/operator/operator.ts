// What an operator can see and do. The API and the console both use this interface. Times are milliseconds since the epoch
// here, and ISO 8601 text in the API.

import type { RecordEvent } from "../kernel/record/events.ts";
import { COUNTED_STATES, type IdempotencyRecord, type RecordState } from "../kernel/record/record.ts";
import type { TimelineEvent } from "../kernel/record/timeline.ts";
import type { EpochMs, RecordId } from "../kernel/record/units.ts";
import type { GivenResponse } from "./given-response.ts";
import type { LayoutsView, ShardCountsView, TotalsView } from "./gateway-schema.ts";
import type { AskingOptions } from "./ask-shards.ts";
import type { LayoutSummary } from "./layouts.ts";
import type { BodyExcerpt } from "../kernel/notes/excerpts.ts";
import type { RecordReplays } from "../kernel/traffic/replay-counts.ts";
import type { Actor } from "./access/auth.ts";
import { actionNamed, type RecordActionName } from "./record-actions/record-actions.ts";
import type { RecordPageView, RecordView, SummaryView } from "./record-schema.ts";
import type { ParsedRequest } from "./request-schema.ts";

/** A view of the API with its times as numbers. */
export type WithEpochTimes<View> = {
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
  /** What is promised of an accepted request, as far as it binds now. */
  readonly giveUpAt: EpochMs | null;
  readonly lastAttempt: number | null;
  readonly excerpt: BodyExcerpt | null;
  /** In the last day, as far as they were counted; `null`: none. */
  readonly replays: Pick<RecordReplays, "count" | "lastAt"> | null;
  /** Oldest first. */
  readonly timeline: readonly TimelineEvent[];
}

/** Which records are listed; `null` means any. */
export interface RecordFilter {
  /** Empty means all. */
  readonly states: readonly RecordState[];
  readonly route: string | null;
  /** When the last attempt started, both ends included. */
  readonly since: EpochMs | null;
  readonly until: EpochMs | null;
  readonly key: string | null;
  /** The digest of the caller, as records note it. */
  readonly caller?: string | null;
  /** The status of the result. */
  readonly status?: number | null;
  /** The first 8 or more digits of the id: a log's `keyHash`, for example. Not together with a key. */
  readonly idPrefix: string | null;
}

export interface RecordPage extends Omit<RecordPageView, "records"> {
  readonly records: readonly RecordSummary[];
  /** How many calls it took. */
  readonly calls: number;
}

export type RecordTotal = RecordPageView["total"];
export type ShownParts = RecordPageView["parts"];

/** A change, by whom, and why. */
export interface ChangeRequest {
  readonly action: RecordActionName;
  readonly by: Actor;
  /** Written to the record's timeline. */
  readonly reason: string;
  /** Only with `resolve`: what is replayed from now on. */
  readonly response: GivenResponse | null;
  /** Nothing is changed: the answer says whether it would be. */
  readonly isPreview: boolean;
}

export type ParsedChange = Omit<ChangeRequest, "by">;

/** The change that the body of an action on a record asks for: why, which every action says, and for `resolve` the response that is replayed from now on. */
export function parseChange(action: RecordActionName, json: unknown): ParsedRequest<ParsedChange> {
  const read = actionNamed(action).body.parse(json);
  if (!read.ok) return read;
  const { why: reason, ...asked } = read.value;
  return { ok: true, value: { action, reason, ...asked } };
}

/** What a change is to the record. */
export function eventOf({ action, by: { name: by }, reason, response }: ChangeRequest): RecordEvent {
  return actionNamed(action).event({ by, why: reason, response });
}

export type ChangeResult =
  /** Of a preview, the record as it is. */
  | { readonly kind: "changed"; readonly record: RecordDetail }
  | { readonly kind: "forgotten" }
  | { readonly kind: "refused"; readonly why: "none" }
  | { readonly kind: "refused"; readonly why: "completed" | "remembered" }
  /** Retry after: when the lock ends. The attempt may end earlier. */
  | { readonly kind: "refused"; readonly why: "in-flight"; readonly retryAfterMs: number };

/** What a request spends on its counts, and which shards it asks first. */
export interface CountsOptions extends Pick<AskingOptions, "budget" | "first"> {
  /** Also objects that no client has used, as far as is known: they are created. */
  readonly isAll?: boolean;
}

/** What all shards have open: those that answered, the names of those that did not, and how many were not asked. */
export interface AllCounts extends Pick<TotalsView, "shards" | "unreachable" | "notAsked"> {
  /** The sum over all that answered. */
  readonly total: CountsTogether;
  /** Those in force first, then the previous ones. */
  readonly layouts: readonly LayoutSummary[];
}

export type OpenTotals = Omit<TotalsView, "shards" | "unreachable" | "notAsked">;

export interface CountsTogether extends OpenTotals {
  /** How many shards these numbers are of. */
  readonly objects: number;
  readonly bytes: number;
  /** The longest of all. */
  readonly oldestWaitingMs: number;
}

/** The sum over shards. */
export function openCounts(shards: readonly Pick<ShardCountsView, keyof OpenTotals>[]): OpenTotals {
  const sum = (of: "inFlight" | "waiting" | "failed" | "unknown"): number =>
    shards.reduce((total, shard) => total + shard[of], 0);
  return {
    inFlight: sum("inFlight"),
    waiting: sum("waiting"),
    failed: sum("failed"),
    unknown: sum("unknown"),
    atLeast: COUNTED_STATES.filter((of) => shards.some(({ atLeast }) => atLeast.includes(of))),
  };
}

export interface Operator {
  /** Whether every route has an object for each key, so that records are found only by their key. */
  readonly isPerKey: boolean;
  /** Whether the configuration lists previous layouts. */
  readonly isChangingLayout: boolean;
  /** In the order of matching. */
  readonly routes: LayoutsView["routes"];
  /**
   * A page, the last attempt that started latest first. `null` when the cursor is invalid, or the list has grown too much since. Continues without unreachable shards, and does not ask those in `unreachable`, which are already
   * known. Rejects when no shard answers; with a key, when a shard that may hold its records does not. Makes at most `maxCalls` calls, so a page may be
   * short or empty before the last one.
   */
  list(
    filter: RecordFilter,
    limit: number,
    cursor: string | null,
    unreachable?: readonly string[],
    maxCalls?: number,
  ): Promise<RecordPage | null>;
  /** Of the records in this state the ones whose last attempts started first, at most 5. `counts` tells which shards have them. */
  oldest(state: "started" | "unknown", counts: AllCounts): Promise<readonly RecordSummary[]>;
  /** The latest records whose outcome is unknown, as far as some shards have them of which `counts` tells that. */
  latestUnknown(counts: Pick<AllCounts, "shards" | "unreachable">, limit: number): Promise<readonly RecordSummary[]>;
  inspect(id: RecordId): Promise<RecordDetail | null>;
  /** The bytes of the stored response; `null` when there are none. Like `inspect` and `change`, rejects when its shard is unreachable. */
  body(id: RecordId, by: Actor): Promise<ReadableStream<Uint8Array> | null>;
  change(id: RecordId, change: ChangeRequest): Promise<ChangeResult>;
  /** Names of headers that a route omits from replays on any of its methods, in lower case. */
  omittedHeaders(route: string): readonly string[];
  /** The current generation of console sessions. Rejects without an answer: then no session is valid. */
  sessions(): Promise<string>;
  /** The same, for a session that begins. */
  signIn(by: Actor): Promise<string>;
  /** Ends all sessions at once. `by` is for the log. */
  endSessions(by: Actor): Promise<void>;
  /** Counts of the shards that can be enumerated: none when every key has its own object. */
  counts(options?: CountsOptions): Promise<AllCounts>;
}
