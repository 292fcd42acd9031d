// A record's row as it is read.

import type { EventPublication } from "../record/outbox.ts";
import { type IdempotencyRecord, type Policy, UNKNOWN_RULES } from "../record/record.ts";
import { KEY_FORM_LINE, recordFault } from "../record/record-fault.ts";
import type { TimelineEvent } from "../record/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../record/units.ts";
import { endOf, expiryBucketOf, IN_FLIGHT } from "./expiry-buckets.ts";
import {
  LAST_BUCKET,
  LOCATION,
  LOCATION_COLUMNS,
  rowLocationOf,
  type LocationColumns,
  WAITING,
} from "./record-numbers.ts";
import {
  FOUND_RESPONSE_COLUMNS,
  KEPT,
  RESPONSE_MEMBERS,
  type ResponseColumns,
  type ResponseRow,
} from "./response-rows.ts";
import { ACCEPTANCE_COLUMNS, readAcceptance } from "./stored-request.ts";
import { hasMembers, readStoredJson, readTime, readWhole, UnreadableError } from "./unreadable.ts";

/** Of a record's attempt, and what is promised of its end. */
export const ATTEMPT_COLUMNS = [
  "state",
  "fingerprint",
  "attempt_id",
  "attempt",
  "started_at",
  "locked_until",
  "unknown",
  "lock_ms",
  "retention_ms",
  "unknown_retention_ms",
  "remember_ms",
  "publish",
] as const;
/** Those that `readRecord` reads, with the number's two halves. */
const RECORD_MEMBERS: readonly string[] = [
  "id",
  ...ATTEMPT_COLUMNS,
  "completed_at",
  "expires_at",
  "status",
  "kept",
  "retry_from",
  "verify_at",
  "verifications",
  "may_have_acted",
  ...ACCEPTANCE_COLUMNS,
];
/** The columns that `readRecord` reads. */
export const RECORD_COLUMNS = `${LOCATION_COLUMNS}, ${RECORD_MEMBERS.join()}`;
const FOUND_MEMBERS = [...RECORD_MEMBERS, "key_form", "history", ...RESPONSE_MEMBERS];
/** SQL: a member's name and value. JSON holds no bytes: for those, which none may have, half stands, which is neither a text nor whole. */
const memberOf = (name: string): string => `'${name}', iif(typeof(${name}) = 'blob', 0.5, ${name})`;
const MEMBERS = `'bucket', ${LOCATION.bucket}, 'slot', ${LOCATION.slot}, ${FOUND_MEMBERS.map(memberOf).join()}`;
/**
 * Also those that `readResponse` reads: one statement, since most records that are found are replayed. All but two as one JSON text, which
 * is made only of a row that is found: the runtime makes the name of each column anew whenever a statement is executed.
 */
export const FOUND_COLUMNS = `json_object(${MEMBERS}) AS members, ${FOUND_RESPONSE_COLUMNS}`;

/** A row of `records`, without the response. */
export interface RecordRow extends LocationColumns {
  readonly id: string;
  readonly state: string;
  readonly fingerprint: string;
  readonly attempt_id: string;
  readonly attempt: number;
  readonly started_at: number;
  readonly locked_until: number;
  readonly unknown: string;
  readonly lock_ms: number;
  readonly retention_ms: number;
  readonly unknown_retention_ms: number;
  readonly retry_from: number | null;
  readonly completed_at: number | null;
  readonly expires_at: number | null;
  readonly status: number | null;
  readonly kept: number | null;
  readonly verify_at: number | null;
  readonly verifications: number | null;
  readonly remember_ms: number | null;
  readonly may_have_acted: number | null;
  readonly accepted: string | null;
  readonly start_at: number | null;
  readonly publish: string | null;
}

/** What `FOUND_COLUMNS` name. */
export interface FoundColumns extends Record<string, SqlStorageValue>, ResponseColumns {
  readonly members: string;
}

/** A row of `records` with the form of its key, its history and the response. */
export type FoundRow = RecordRow & ResponseRow & { readonly key_form: string | null; readonly history: string | null };

export function foundRow({ members, headers, body }: FoundColumns): FoundRow {
  const row: FoundRow = JSON.parse(members);
  return Object.assign(row, { headers, body });
}

/** How the origin got the key of a record's first attempt (kernel/request/origin-key.ts); `null`: it got none that is known. */
export function readKeyForm({ key_form: form }: Pick<FoundRow, "key_form">): string | null {
  if (form === null || form === "") return form;
  // Otherwise the next attempt would have no key, and the origin would act again.
  if (typeof form !== "string" || !form.split("\n").every((line) => KEY_FORM_LINE.test(line)))
    throw new UnreadableError("how the origin got a record's key");
  return form;
}

/** Reads what this deployment or an earlier one wrote. */
export function readHistory(text: string | null): readonly TimelineEvent[] {
  return text === null ? [] : readStoredJson(text, "a record's history", isHistory);
}

function isHistory(value: unknown): value is readonly TimelineEvent[] {
  return Array.isArray(value) && value.every((event) => hasMembers(event, "type"));
}

function isPublish(value: unknown): value is readonly EventPublication[] {
  return Array.isArray(value) && value.every((one) => hasMembers(one, "to", "type", "when", "data"));
}

function readUnknown(text: string): Policy["unknown"] {
  const rule = UNKNOWN_RULES.find((one) => one === text);
  if (rule === undefined) throw new UnreadableError("a record's rule for unknown outcomes");
  return rule;
}

/** A first attempt has not had the chance to act without a result, and nothing follows from it after one: there it is not written. */
function readMayHaveActed({ state, may_have_acted: written }: RecordRow): boolean {
  if (written === null && (state === "started" || state === "completed")) return false;
  if (written !== 0 && written !== 1) throw new UnreadableError("whether a record's attempt may have acted");
  return written === 1;
}

/** Fails closed: a record that cannot be read must never count as absent, nor as one whose time is over. */
export function readRecord(row: RecordRow): IdempotencyRecord {
  const record = recordIn(row);
  const fault = recordFault(record) ?? locationFault(record, row);
  if (fault !== null) throw new UnreadableError(`a record: ${fault}`);
  return record;
}

function recordIn(row: RecordRow): IdempotencyRecord {
  const accepted = readAcceptance(row.accepted);
  const policy: Policy = {
    unknown: readUnknown(row.unknown),
    lockMs: durationMs(row.lock_ms),
    retentionMs: durationMs(row.retention_ms),
    unknownRetentionMs: durationMs(row.unknown_retention_ms),
    ...(row.remember_ms === null ? {} : { rememberMs: durationMs(row.remember_ms) }),
    ...(accepted === null ? {} : { schedule: accepted.schedule }),
    ...(row.publish === null ? {} : { publish: readStoredJson(row.publish, "a record's events", isPublish) }),
  };
  const promise = accepted === null ? {} : { accepted };
  const common = {
    fingerprint: fingerprint(row.fingerprint),
    attempt: {
      id: attemptId(row.attempt_id),
      number: row.attempt,
      startedAt: epochMs(row.started_at),
      lockedUntil: epochMs(row.locked_until),
      mayHaveActed: readMayHaveActed(row),
    },
    policy,
  };
  const expiry = (): { readonly expiresAt: ReturnType<typeof epochMs> } => ({
    expiresAt: readTime(row.expires_at, "a record's expiry"),
  });
  switch (row.state) {
    case "started":
      return { state: "started", ...common, ...promise };
    case "waiting":
      if (accepted === null) throw new UnreadableError("a waiting record's promise");
      return { state: "waiting", ...common, accepted, startAt: readTime(row.start_at, "a waiting record's start") };
    case "failed":
      return { state: "failed", ...common, retryFrom: readTime(row.retry_from, "a failed record's lock"), ...expiry() };
    case "unknown":
      return {
        state: "unknown",
        ...common,
        ...expiry(),
        verifyAt: row.verify_at === null ? null : epochMs(row.verify_at),
        verifications: readWhole(row.verifications, "a record's verifications"),
        ...promise,
      };
    case "completed": {
      const kept = readWhole(row.kept, "whether a record keeps its response");
      if (kept > KEPT.encrypted || (kept === KEPT.open && row.status === null))
        throw new UnreadableError("how a record keeps its response");
      return {
        state: "completed",
        ...common,
        status: row.status,
        kept: kept !== KEPT.no,
        completedAt: readTime(row.completed_at, "a record's completion"),
        ...expiry(),
      };
    }
    case "remembered":
      return { state: "remembered", ...common, status: row.status, ...expiry() };
    default:
      throw new UnreadableError("a record's state");
  }
}

/** Where a record lies says when it is erased: no sooner than it expires. What is set aside in the last bucket stays unreadable. */
function locationFault(record: IdempotencyRecord, row: LocationColumns): string | null {
  const { expiryBucket } = rowLocationOf(row);
  const isRight = ((): boolean => {
    switch (record.state) {
      case "started":
        return expiryBucket === IN_FLIGHT;
      case "waiting":
        return expiryBucket === WAITING;
      case "failed":
      case "unknown":
      case "completed":
      case "remembered":
        return expiryBucket === LAST_BUCKET
          ? expiryBucketOf(record) === LAST_BUCKET
          : expiryBucket !== IN_FLIGHT && endOf(expiryBucket) >= record.expiresAt;
    }
  })();
  return isRight ? null : "it does not lie where it must";
}
