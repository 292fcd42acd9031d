// What a record is called: by its key alone in the first half, so that who knows a key finds its records and their shard,
// and by its key, scope and set of objects in the second. As digests, so that no key shows in a log or in the name of an
// object.

import { type RecordId, recordId } from "../core/units.ts";
import { digest } from "./digest.ts";

/** 128 bits: nobody finds two keys, or two scopes of one key, that share them. */
export const KEY_HASH_DIGITS = 32;

/**
 * Of the record of `key` in the scope with these values. `shardSet` tells the objects in which it lies from others that may
 * have one for the same key and scope: an operator who names a record means one.
 */
export async function nameRecord(key: string, scope: readonly (string | null)[], shardSet: string): Promise<RecordId> {
  const [ofKey, ofRecord] = await Promise.all([keyHash(key), digest([key, ...scope, shardSet])]);
  return recordId(ofKey + ofRecord.slice(0, KEY_HASH_DIGITS));
}

/** What the names of all records of a key begin with; it stands for the key in logs. */
export async function keyHash(key: string): Promise<string> {
  return (await digest([key])).slice(0, KEY_HASH_DIGITS);
}

export function keyHashOf(id: RecordId): string {
  return id.slice(0, KEY_HASH_DIGITS);
}
