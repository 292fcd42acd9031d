// A number for each key, evenly spread over 0 to below 1 and always the same, so that a share of the keys can be taken without asking anybody. It is no
// secret and no identity: a client who wants its keys to be in a share can find such keys.

import { singleHeaders } from "../../kernel/config/key-source.ts";
import type { Route } from "../../kernel/config/resolved.ts";
import { parseKey } from "../../kernel/request/key.ts";

/** What becomes of a request, as far as its headers tell: a key elsewhere is read later, from the copy. */
export function decideTrial(request: Request, { trial, keyFrom, keyFormat }: Route): "protect" | "look" | "pass" {
  if (trial === null) return "protect";
  if (trial.protectedShare === 0 && trial.sample === 1) return "look";
  const names = singleHeaders(keyFrom);
  const key = names === null ? null : parseKey(request.headers, names, keyFormat);
  if (key?.kind !== "key") return "look";
  if (shareOf("enforce", key.key) < trial.protectedShare) return "protect";
  return shareOf("sample", key.key) < trial.sample ? "look" : "pass";
}

/** `of`: what the share is of. The shares of two words have nothing to do with each other. */
export function shareOf(of: "enforce" | "sample", key: string): number {
  // FNV-1a, then the finish of MurmurHash3: the last characters of a key decide as much as the first.
  let hash = 0x811c9dc5;
  for (const text of [of, " ", key]) {
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
