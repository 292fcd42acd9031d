// Which records of a shard an operator wants to see, and in which order: the last attempt that started latest first.

import { type IdempotencyRecord, isClosed, type RecordState } from "../../core/record.ts";
import type { EpochMs } from "../../core/units.ts";

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
  /** The route's path, percent-encoded. */
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
export function isAhead(one: ListPosition, { position, direction }: Pick<ListQuery, "position" | "direction">): boolean {
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
  const path = route === null ? null : decodeURIComponent(route);
  return [from, through, now, path, since, until, keyHash, (keyHash ?? "") + AFTER_DIGITS, caller, status];
}

/** What a row says by itself and no time changes. */
const FITS =
  "(?5 IS NULL OR started_at >= ?5) AND (?6 IS NULL OR started_at <= ?6) AND (?7 IS NULL OR (id >= ?7 AND id < ?8)) AND (?4 IS NULL OR route = ?4) AND (?9 IS NULL OR note ->> '$.caller' = ?9)";

/** Whether the record still is as it is stored (`applyTime` in core/life-cycle.ts). */
const STANDS =
  "CASE state WHEN 'started' THEN locked_until > ?3 WHEN 'waiting' THEN driven ->> '$.giveUpAt' >= ?3 ELSE expires_at > ?3 END";

/** Whether anything can be left of a record that does not stand. */
const MAY_BE_LEFT = "state IN ('started', 'waiting') OR remember_ms IS NOT NULL";

export const MATCHES = 1;
/** It has to be read whole, because time has changed it. */
export const DUE = 2;

/** SQL: what a row is to this list: MATCHES, DUE, or neither. */
export function verdictOn({ states }: ListQuery): string {
  const isWanted = states.length === 0 ? "1" : states.map(storedAs).join(" OR ");
  const asked = `(${isWanted}) AND (?10 IS NULL OR (state = 'completed' AND status = ?10))`;
  return `CASE WHEN ${FITS} THEN CASE WHEN ${STANDS} THEN ${asked} WHEN ${MAY_BE_LEFT} THEN ${DUE} ELSE 0 END ELSE 0 END`;
}

/** SQL: whether a row is stored in this state (see `writtenState` in record-rows.ts). */
function storedAs(state: RecordState): string {
  switch (state) {
    case "started":
    case "waiting":
    case "failed":
    case "unknown":
      return `state = '${state}'`;
    case "completed":
      return "(state = 'completed' AND kept IS NOT NULL)";
    case "remembered":
      return "(state = 'completed' AND kept IS NULL)";
  }
}
