// Changes all records that a filter matches: goes through the pages of the list, and has each record's object change it as it is changed
// alone. Bounded in time and in calls; the list's own cursor says where the next request goes on.

import { MAX_REMEMBER_MS } from "../../../kernel/config/settings-attempt.ts";
import type { RecordState } from "../../../kernel/record/record.ts";
import { type EpochMs, epochMs } from "../../../kernel/record/units.ts";
import { encodeMessage } from "../../../kernel/request/message.ts";
import type { ListedChangeHead, ListedOutcome } from "../object/listed-changes.ts";
import { MAX_CALLS } from "../../../operator/asking-plan.ts";
import type { AllChange, AllChangeResult } from "./all-change.ts";
import {
  eventOf,
  type Operator,
  type RecordFilter,
  type RecordPage,
  type RecordSummary,
} from "../../../operator/operator.ts";
import { CLOCKS_MS, RECORD_STATES } from "../../../operator/request-schema.ts";

/** The platform opens six connections; the others queue briefly. */
const SHARDS_AT_ONCE = 16;
/** Besides them, the request writes to the audit log. */
const MOST_CALLS = MAX_CALLS - 20;
const MAX_MS = 5000;
/** A page is finished once it is begun, so one with changes is short. */
const PAGE = { preview: 200, change: 100 };
/** Records that one call looks at or changes: requests wait meanwhile. */
const RECORDS_PER_CALL = { preview: 100, change: 10 };
/** Bytes of responses that one call writes, if it writes more than one. */
const BYTES_PER_CALL = 1 << 20;
/** How many records a preview shows. */
const SHOWN = 10;

export interface ChangeAllPorts {
  readonly list: (
    ...query: Parameters<Operator["list"]>
  ) => Promise<Pick<RecordPage, "records" | "cursor" | "unreachable" | "calls"> | null>;
  /** How many calls let a page of the list begin. */
  readonly callsPerPage: number;
  /** Sends a message (listed-changes.ts) to the object that has the record; `null`: it does not answer. */
  readonly ask: (record: RecordSummary, message: Uint8Array) => Promise<readonly ListedOutcome[] | null>;
}

export async function changeAll(
  change: AllChange,
  { list, callsPerPage, ask }: ChangeAllPorts,
): Promise<AllChangeResult> {
  const { filter, until, isPreview, cursor, response } = change;
  const mode = isPreview ? "preview" : "change";
  const perCall = recordsPerCall(mode, response?.body.byteLength ?? 0);
  const fixed = fixedAt(filter, until);
  const sum = new Sum(isPreview ? SHOWN : 0);
  const end = Date.now() + MAX_MS;
  let calls = 0;
  let at = cursor;
  for (let isFirst = true; isFirst || at !== null; isFirst = false) {
    // One call for each of its records is more than they need.
    const left = MOST_CALLS - calls - PAGE[mode];
    if (!isFirst && (left < callsPerPage || Date.now() >= end)) break;
    const page = await list(fixed, PAGE[mode], at, [...sum.unreachable], left).catch((error: unknown) => {
      // What has been done before must be said.
      if (isFirst) throw error;
      return "unreachable" as const;
    });
    if (page === null && isFirst) return { kind: "no-cursor" };
    if (page === null || page === "unreachable") break;
    calls += page.calls;
    for (const shard of page.unreachable) sum.unreachable.add(shard);
    const shards = [...Map.groupBy(page.records, ({ shard }) => shard)];
    const run = async (): Promise<void> => {
      for (let next = shards.shift(); next !== undefined; next = shards.shift()) {
        const [shard, records] = next;
        for (let from = 0; from < records.length; from += perCall) {
          const some = records.slice(from, from + perCall);
          const [record] = some;
          if (record === undefined) break;
          const isSilent = sum.unreachable.has(shard);
          if (!isSilent) calls += 1;
          const outcomes = isSilent ? null : await ask(record, messageOf(change, some));
          if (outcomes === null) sum.unreachable.add(shard);
          some.forEach((one, index) => sum.add(one, outcomes?.[index] ?? "unanswered"));
        }
      }
    };
    await Promise.all(Array.from({ length: SHARDS_AT_ONCE }, run));
    at = page.cursor;
  }
  const counts = sum.counts();
  if (!isPreview) logChange(change, counts);
  return { kind: "done", ...counts, cursor: at };
}

function messageOf(change: AllChange, some: readonly RecordSummary[]): Uint8Array {
  const { until: since, isPreview } = change;
  // A preview gives nobody the response, so no object gets it, which may be a megabyte for each of a thousand calls.
  const { headers = [], body = new Uint8Array() } = (isPreview ? null : change.response) ?? {};
  const records = some.map(({ id, state, attempt, startedAt }) => ({ id, state, attempt, startedAt }));
  const head: ListedChangeHead = { records, event: eventOf(change), headers, isPreview, since };
  return encodeMessage({ head, body });
}

function logChange({ action, by, reason }: AllChange, counts: Counts): void {
  const { matched, changed, refused, skipped, unanswered, unreachable } = counts;
  const sums = { matched, changed, refused, skipped, unanswered, unreachable };
  console.warn({ message: "all that match changed", action, by: by.name, reason, ...sums });
}

/** The filter without what began after `until`, so that each call means the same records. */
export function fixedAt(filter: RecordFilter, until: EpochMs): RecordFilter {
  return { ...filter, until: epochMs(Math.min(filter.until ?? until, until)) };
}

/**
 * Whether a filter has no condition, or none that leaves a record out whatever the records are: every state, a time that is not before that
 * of the change by more than clocks differ, or one before any record that can still be kept.
 */
export function matchesAll({ states, since, until, ...others }: RecordFilter, asOf: EpochMs): boolean {
  return (
    (states.length === 0 || states.length === RECORD_STATES.length) &&
    (since === null || since <= asOf - MAX_REMEMBER_MS) &&
    (until === null || until >= asOf - CLOCKS_MS) &&
    Object.values(others).every((condition) => condition === null)
  );
}

function recordsPerCall(mode: "preview" | "change", responseBytes: number): number {
  const most = RECORDS_PER_CALL[mode];
  if (mode === "preview" || responseBytes === 0) return most;
  return Math.max(1, Math.min(most, Math.floor(BYTES_PER_CALL / responseBytes)));
}

type Counts = Omit<Extract<AllChangeResult, { readonly kind: "done" }>, "kind" | "cursor">;

/** What a call has found and done. */
class Sum {
  readonly unreachable = new Set<string>();
  readonly #shown: number;
  readonly #records: RecordSummary[] = [];
  readonly #routes = new Set<string>();
  readonly #states = new Map<RecordState, number>();
  readonly #outcomes = new Map<ListedOutcome | "unanswered", number>();

  constructor(shown: number) {
    this.#shown = shown;
  }

  add(record: RecordSummary, outcome: ListedOutcome | "unanswered"): void {
    // Changed by an earlier call, and counted by it.
    if (outcome === "decided") return;
    const { state, route } = record;
    if (this.#records.length < this.#shown) this.#records.push(record);
    this.#routes.add(route);
    this.#states.set(state, (this.#states.get(state) ?? 0) + 1);
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }

  counts(): Counts {
    const of = (outcome: ListedOutcome | "unanswered"): number => this.#outcomes.get(outcome) ?? 0;
    const inState = (state: RecordState): number => this.#states.get(state) ?? 0;
    return {
      matched: [...this.#states.values()].reduce((all, one) => all + one, 0),
      states: {
        waiting: inState("waiting"),
        started: inState("started"),
        failed: inState("failed"),
        unknown: inState("unknown"),
        completed: inState("completed"),
        remembered: inState("remembered"),
      },
      changed: of("changed"),
      refused: { inFlight: of("in-flight"), completed: of("completed"), remembered: of("remembered") },
      skipped: of("skipped"),
      unanswered: of("unanswered"),
      routes: [...this.#routes].toSorted(),
      records: this.#records,
      unreachable: [...this.unreachable],
    };
  }
}
