// Which shard keeps a record: that of its key alone, so that who knows a key knows its shard. Another number of shards is
// another set of names: keys from before are not found there.

import type { Route, Shards } from "../config/resolved.ts";
import { keyHashOf } from "../core/units.ts";

/** One object: its name, and where it is made if it is not there yet. */
export interface ShardPlace extends Pick<Route, "jurisdiction" | "locationHint"> {
  readonly name: string;
}

/** `keyHash` begins with what http/record-name.ts makes of the key; the whole name of a record does. */
export function shardName(keyHash: string, shards: Shards): string {
  if (shards === "per-key") return `key-${keyHashOf(keyHash)}`;
  return `shard-${Number.parseInt(keyHash.slice(0, 8), 16) % shards}-of-${shards}`;
}

/** What people call a shard: names are the same in every jurisdiction. */
export function shardTitle({ name, jurisdiction }: ShardPlace): string {
  return jurisdiction === null ? name : `${name}-${jurisdiction}`;
}
