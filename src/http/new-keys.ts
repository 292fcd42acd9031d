// Whom a new key is counted for (`new_keys`): the caller, by all of the scope. Only the shard knows whether a key is new, and
// asks the limiter then (shard/new-keys.ts).

import type { NewKeys } from "../config/resolved.ts";
import { digest } from "./digest.ts";
import type { HeadersView } from "./headers.ts";
import { CLIENT_ADDRESS, isSomebody, type ScopeValues } from "./scope.ts";

/** How a new key is counted, as part of the message to the shard. */
export interface KeyCount extends NewKeys {
  /** The caller's digest. */
  readonly caller: string;
}

/**
 * A scope that shows nobody (`["none"]`, or no part of it is in the request) is shared by strangers, and one of them could use up
 * the limit of all. So there the client's address counts too.
 */
export async function countFor(newKeys: NewKeys, scope: ScopeValues, headers: HeadersView): Promise<KeyCount> {
  const address = isSomebody(scope) ? null : headers.get(CLIENT_ADDRESS);
  return { ...newKeys, caller: await digest([...scope, address]) };
}
