// Which records of a shard an operator wants to see, and in which order: the last attempt that started latest first.

import { type IdempotencyRecord, isClosed, type RecordState } from "../record/record.ts";
import type { EpochMs } from "../record/units.ts";

/** The place of a record in the order of lists. */
export interface ListPosition {
  readonly startedAt: number;
  /** Decides among records that started at the same time: the last one comes first. */
  readonly id: string;
}

/** Newest first, or from there back to newer ones. */
export type ListDirection = "after" | "before";

/** Only ids, enums and numbers, because it travels as JSON in a header (see itty.ts). */
export interface ListQuery {
  /** The beginning of the ids. It may be shorter or longer than a key's hash. */
  readonly keyHash: string | null;
  /** Empty: all. */
  readonly states: readonly RecordState[];
  /** The route's path. */
  readonly route: string | null;
  /** When the last attempt started, both ends included. */
  readonly since: number | null;
  readonly until: number | null;
  /** The digest of the caller that the record notes. */
  readonly caller?: string | null;
  /** The status of the result. */
  readonly status?: number | null;
  /** The number of parts (list-parts.ts); `null`: as many as this shard needs. */
  readonly parts: number | null;
  /** `null`: the first one in this direction. */
  readonly part: number | null;
  readonly direction: ListDirection;
  /** Where to continue in this part; `null`: at its beginning in this direction. */
  readonly position: ListPosition | null;
  readonly limit: number;
}

/** Below zero if the first one comes first in lists. */
export function compareNewest(one: ListPosition, other: ListPosition): number {
  if (one.startedAt !== other.startedAt) return other.startedAt - one.startedAt;
  return one.id === other.id ? 0 : one.id > other.id ? -1 : 1;
}

/** Whether the walk in this direction still has it before it. */
export function isAhead(
  one: ListPosition,
  { position, direction }: Pick<ListQuery, "position" | "direction">,
): boolean {
  if (position === null) return true;
  const order = compareNewest(one, position);
  return direction === "after" ? order > 0 : order < 0;
}

/** Whether a record belongs to the list as it stands now, as far as time can have changed that. */
export function isAskedFor({ states, status = null }: ListQuery, record: IdempotencyRecord): boolean {
  if (states.length > 0 && !states.includes(record.state)) return false;
  return status === null || (isClosed(record.state) && "status" in record && record.status === status);
}

/** Ids are hexadecimal, so this sorts after what follows any beginning of them. */
const AFTER_DIGITS = "~";

/** The values of VERDICT and of the slots, which are the first two. */
export function valuesOf(
  { keyHash, route, since, until, caller = null, status = null }: ListQuery,
  { from, through }: { readonly from: number; readonly through: number },
  now: EpochMs,
): readonly (string | number | null)[] {
  return [from, through, now, route, since, until, keyHash, (keyHash ?? "") + AFTER_DIGITS, caller, status];
}

export const MATCHES = 1;
/** It has to be read whole, because time has changed it. */
export const DUE = 2;

/** Whether the lock of an attempt lasts, or a request may wait (`applyTime` in kernel/record/life-cycle.ts). */
const LASTS = "CASE state WHEN 'started' THEN locked_until > ?3 ELSE accepted ->> '$.giveUpAt' >= ?3 END";

/**
 * SQL: what a row is to this list: MATCHES, DUE, or neither. Most rows show that they stand as they are stored by their expiry alone, which
 * only records in flight and those that wait lack.
 */
export function verdictOn(query: ListQuery): string {
  const matches = `iif(${askedBy(query)}, ${MATCHES}, 0)`;
  const verdict = `CASE WHEN expires_at > ?3 THEN ${matches} WHEN expires_at IS NULL THEN iif(${LASTS}, ${matches}, ${DUE}) ELSE iif(remember_ms IS NULL, 0, ${DUE}) END`;
  const fits = fitting(query);
  return fits.length === 0 ? verdict : `CASE WHEN ${fits.join(" AND ")} THEN ${verdict} ELSE 0 END`;
}

/** What a row says by itself and no time changes. */
function fitting({ keyHash, route, since, until, caller = null }: ListQuery): readonly string[] {
  return [
    ...(since === null ? [] : ["started_at >= ?5"]),
    ...(until === null ? [] : ["started_at <= ?6"]),
    ...(keyHash === null ? [] : ["id >= ?7 AND id < ?8"]),
    ...(route === null ? [] : ["route = ?4"]),
    ...(caller === null ? [] : ["note ->> '$.caller' = ?9"]),
  ];
}

/** What may be otherwise by now than it is stored: see `isAskedFor`. */
function askedBy({ states, status = null }: ListQuery): string {
  const conditions = [
    ...(states.length === 0 ? [] : [`(${states.map((state) => `state = '${state}'`).join(" OR ")})`]),
    ...(status === null ? [] : ["state IN ('completed', 'remembered') AND status = ?10"]),
  ];
  return conditions.length === 0 ? "1" : conditions.join(" AND ");
}
