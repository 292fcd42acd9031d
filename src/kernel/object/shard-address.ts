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
  return numberedName(Number.parseInt(keyHash.slice(0, 8), 16) % count, shards);
}

/** The name of an object of a layout, by its number. */
export function numberedName(number: number, shards: ShardsSetting): string {
  return `shard-${number}-of-${shards}`;
}

/**
 * So many objects of a large layout have one gathering object (gathering.ts). Must never change: the totals know what a gathering object has added up
 * by its name, and another one would count the same objects again.
 */
export const GATHERED_TOGETHER = 512;

/** The object that asks those of a layout whose numbers begin at `number` × GATHERED_TOGETHER. */
export function gatheringName(number: number, shards: ShardsSetting): string {
  return `gathering-${number}-of-${shards}`;
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
