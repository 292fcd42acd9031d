// The name of a record. Its first half comes from the key alone, so that the key is enough to find its records and their shard;
// its second half comes from the key, the scope and the set of objects. Both are digests, so that no key shows in a log or in the
// name of an object.

import { keyHashOf, type RecordId, recordId } from "../core/units.ts";
import { digest } from "./digest.ts";

/**
 * Names the record of `key` in the scope with these values. `shardSet` tells its objects from others that may have a record for
 * the same key and scope, so that a name means one record.
 */
export async function nameRecord(key: string, scope: readonly (string | null)[], shardSet: string): Promise<RecordId> {
  const [ofKey, ofRecord] = await Promise.all([keyHash(key), digest([key, ...scope, shardSet])]);
  return recordId(ofKey + keyHashOf(ofRecord));
}

/** The beginning of the names of all records of a key, which stands for the key in logs. */
export async function keyHash(key: string): Promise<string> {
  return keyHashOf(await digest([key]));
}
