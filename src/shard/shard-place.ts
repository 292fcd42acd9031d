// Which shard keeps a record. Only the key decides, so that anyone who knows a key can find its shard. Another number of shards
// makes other names, so earlier keys are not found there.

import type { Route, Shards } from "../config/resolved.ts";
import { keyHashOf } from "../core/units.ts";

/** One object: its name, and where it is created if it does not exist yet. */
export interface ShardPlace extends Pick<Route, "jurisdiction" | "locationHint"> {
  readonly name: string;
}

/** `keyHash` begins with the key's hash (http/record-name.ts); a whole record id may be given too. */
export function shardName(keyHash: string, shards: Shards): string {
  if (shards === "per-key") return `key-${keyHashOf(keyHash)}`;
  return `shard-${Number.parseInt(keyHash.slice(0, 8), 16) % shards}-of-${shards}`;
}

/** The shard's name for operators. It includes the jurisdiction, because every jurisdiction has the same object names. */
export function shardTitle({ name, jurisdiction }: ShardPlace): string {
  return jurisdiction === null ? name : `${name}-${jurisdiction}`;
}
