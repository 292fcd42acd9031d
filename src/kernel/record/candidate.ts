// Chooses among the records that one request may mean while the scope changes: the record of its own name, those under its names in
// older scopes, and those that have its own name as an alias.

import { type IdempotencyRecord, isAbandoned } from "./record.ts";
import type { EpochMs, Fingerprint, RecordId } from "./units.ts";

/** A record as it stands now. */
export interface CandidateRecord {
  readonly id: RecordId;
  readonly record: IdempotencyRecord;
}

/**
 * The record that the request means. One that may not be tried again comes before one that may: an attempt would repeat what the
 * first has done, or may have done; so does a key that its client has given up, whatever it was for. A record of another request is meant only if
 * there is no other, and then the key was reused.
 */
export function chooseCandidate(
  candidates: readonly CandidateRecord[],
  fingerprint: Fingerprint,
  now: EpochMs,
): CandidateRecord | null {
  const same = candidates.filter(({ record }) => record.fingerprint === fingerprint);
  const givenUp = candidates.find(({ record }) => isAbandoned(record));
  return same.find(({ record }) => !mayStart(record, now)) ?? givenUp ?? same[0] ?? candidates[0] ?? null;
}

/** Whether another attempt of the record may start now. */
export function mayStart(record: IdempotencyRecord, now: EpochMs): boolean {
  return record.state === "failed" && record.retryFrom <= now;
}
