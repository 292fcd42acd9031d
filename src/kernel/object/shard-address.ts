// Which shard of a layout keeps a record. Only the key decides, so that anyone who knows a key can find its shard. Another layout
// has other objects.

import { type Layout, type ShardsSetting, shardCount } from "../config/layout.ts";
import { keyHashOf } from "../record/units.ts";

/** One object: its name, and where it is created if it does not exist yet. */
export interface ShardAddress extends Pick<Layout, "jurisdiction" | "locationHint"> {
  readonly name: string;
}

/** `keyHash` begins with the key's hash (kernel/request/record-name.ts); a whole record id may be given too. */
export function shardName(keyHash: string, shards: ShardsSetting): string {
  const count = shardCount(shards);
  if (count === null) return `key-${keyHashOf(keyHash)}`;
  return `shard-${Number.parseInt(keyHash.slice(0, 8), 16) % count}-of-${shards}`;
}

/** The object that adds up what all have counted, and takes the counts of isolates. */
export const TOTALS = "totals";

/** Whether an object of this name keeps what it counts: one with many keys, and the one that counts for isolates. */
export function keepsCounts(name: string | undefined): boolean {
  return name?.startsWith("shard-") === true || name === TOTALS;
}

/** Where the layout keeps the records of a key. */
export function shardAddressOf(keyHash: string, { shards, jurisdiction, locationHint }: Layout): ShardAddress {
  return { name: shardName(keyHash, shards), jurisdiction, locationHint };
}

/** The shard's name for operators. It includes the jurisdiction, because every jurisdiction has the same object names. */
export function shardTitle({ name, jurisdiction }: ShardAddress): string {
  return jurisdiction === null ? name : `${name}-${jurisdiction}`;
}
