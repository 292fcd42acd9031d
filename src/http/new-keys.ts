// Whom a new key is counted for (`new_keys`): the caller, by all of the scope. Only the shard knows whether a key is new, and
// asks the limiter then (shard/new-keys.ts).

import type { NewKeys } from "../config/resolved.ts";
import { digest } from "./digest.ts";
import type { HeadersView } from "./headers.ts";
import { CLIENT_ADDRESS, networkOf } from "./client-address.ts";
import { isSomebody, type ScopeValues } from "./scope.ts";

/** How a new key is counted, as part of the message to the shard. */
export interface KeyCount extends NewKeys {
  /** The caller's digest. */
  readonly caller: string;
}

/**
 * A scope that shows nobody (`["none"]`, or no part of it is in the request) is shared by strangers, and one of them could use up
 * the limit of all. So there the client's address counts too. Of an address only its network counts, here and in the scope: whoever has
 * one IPv6 address would otherwise begin with each of 2^64 anew.
 */
export async function countFor(newKeys: NewKeys, scope: ScopeValues, headers: HeadersView): Promise<KeyCount> {
  const address = isSomebody(scope) ? null : headers.get(CLIENT_ADDRESS);
  const counted = scope.map((value, at) => (at % 2 === 1 && scope[at - 1] === "ip" ? inNetwork(value) : value));
  return { ...newKeys, caller: await digest([...counted, inNetwork(address)]) };
}

function inNetwork(address: string | null): string | null {
  return address === null ? null : networkOf(address);
}
