// The names by which operators know a record. The key of a record of an `encrypt_responses` route is not stored: a digest of its scope is in its
// place, which tells whose record it is to whoever knows the scope's values and the gateway's secret.

import { keyHashOf } from "../record/units.ts";

export interface RecordLabel {
  /** The idempotency key; of an encrypted record the digest of it with which its id begins. */
  readonly key: string;
  /** The path of the route, as configured. */
  readonly route: string;
  /** Only of an encrypted record. */
  readonly scopeDigest?: string;
  /** What the record notes of its request (kernel/record/request-note.ts), as text; absent: nothing. */
  readonly note?: string;
  /** Whose turn the record takes (kernel/record/lanes.ts); absent: lane 0, or it was not asked for. */
  readonly lane?: number;
}

/** Of a record that does not exist, or whose label cannot be found. */
export const UNLABELLED: RecordLabel = { key: "", route: "" };

/** The columns of a label that operators see, besides the record's id. */
export const LABEL_COLUMNS = "key, route, note";

export interface LabelRow {
  readonly id: string;
  readonly key: string;
  readonly route: string;
  readonly note: string | null;
  readonly lane?: number | null;
}

/** No key begins like this: keys are visible ASCII (kernel/request/key-text.ts). */
const ENCRYPTED = "\u00a7encrypted ";

/** What the column `key` has. */
export function keyText({ key, scopeDigest }: RecordLabel): string {
  return scopeDigest === undefined ? key : ENCRYPTED + scopeDigest;
}

export function readLabel({ id, key, route, note, lane = null }: LabelRow): RecordLabel {
  const more = { ...(note === null ? {} : { note }), ...(lane === null ? {} : { lane }) };
  if (!key.startsWith(ENCRYPTED)) return { key, route, ...more };
  return { key: `sha256:${keyHashOf(id)}`, route, ...more, scopeDigest: key.slice(ENCRYPTED.length) };
}
