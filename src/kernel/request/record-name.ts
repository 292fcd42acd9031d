// Names a record. The first half of the name depends only on the key, so that an operator who knows a key can find its records
// and their shard; the second half depends on the key, its scope and the layout. Both are digests, so that no key
// appears in a log or in the name of an object.

import { KEY_HASH_DIGITS, keyHashOf, type RecordId, recordId } from "../record/units.ts";
import { isOfRequestNamed } from "../config/scope-part.ts";
import { digest } from "./digest.ts";

/**
 * The name of the record of `key` in the scope with these values. `layout` names the set of objects that keeps it. Another layout
 * may have a record for the same key and scope, and an operator's command must mean only one of them.
 */
export async function nameRecord(key: string, scope: readonly (string | null)[], layout: string): Promise<RecordId> {
  const [ofKey, ofScope] = await Promise.all([keyHash(key), scopeHash(key, scope, layout)]);
  return recordId(ofKey + ofScope);
}

/**
 * Comes after the values of a scope in the names of keys that are made from content. A scope has pairs of values, so no key of any client has such a
 * name, whatever its text.
 */
const CONTENT = "content";

/** The scope of the keys that are made from the content of its caller's requests. */
export function contentScope(scope: readonly (string | null)[]): readonly (string | null)[] {
  return [...scope, CONTENT];
}

/** Whether this is the name of the record of its key in the scope with these values, be it the caller's own or made from content. */
export async function isNameIn(
  id: RecordId,
  key: string,
  scope: readonly (string | null)[],
  layout: string,
): Promise<boolean> {
  const own = [scope, contentScope(scope)].map((values) => scopeHash(key, values, layout));
  return (await Promise.all(own)).includes(id.slice(KEY_HASH_DIGITS));
}

/** The second half of a record's name. */
async function scopeHash(key: string, scope: readonly (string | null)[], layout: string): Promise<string> {
  return keyHashOf(await digest([key, ...scope, layout]));
}

/** The first half of the names of all records of a key. It replaces the key in logs. */
export async function keyHash(key: string): Promise<string> {
  return keyHashOf(await digest([key]));
}

/** Whether each part of the scope has a value, and one of them shows a caller, so that no stranger shares it. */
export function isWholeScope(scope: readonly (string | null)[]): boolean {
  return isSomebody(scope) && scope.every((value, at) => at % 2 === 0 || isValue(value));
}

/** Whether the scope's values show a caller: not if it is shared by strangers (`["none"]`, or the request has no part of it that shows one). */
export function isSomebody(scope: readonly (string | null)[]): boolean {
  return callerValues(scope).some((value, at, { [at - 1]: name }) => at % 2 === 1 && isValue(value) && name !== "host");
}

/** An empty credential is anybody's: `Authorization:` without a value, a cookie that was cleared. */
function isValue(value: string | null): boolean {
  return value !== null && value !== "";
}

/** The names and values of the parts that are the caller's, without those that say what the request is about. */
export function callerValues(scope: readonly (string | null)[]): readonly (string | null)[] {
  return scope.filter((_, at) => !isOfRequestNamed(scope[at - (at % 2)] ?? ""));
}
