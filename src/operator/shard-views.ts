// The counts of a shard as the API shows them.

import { shardTitle } from "../kernel/object/shard-address.ts";
import type { ShardCountsView } from "./gateway-schema.ts";
import type { LayoutShardAddress } from "./shards.ts";

export function viewGatheredShard(
  address: LayoutShardAddress,
  counts: Omit<ShardCountsView, "shard" | "layout">,
): ShardCountsView {
  return viewShard(shardTitle(address), address.layout, counts);
}

export function viewShard(
  shard: string,
  layout: string,
  counts: Omit<ShardCountsView, "shard" | "layout">,
): ShardCountsView {
  const { inFlight, failed, unknown, atLeast, bytes, waiting } = counts;
  const { oldestMs, oldestUnknownMs, oldestWaitingMs, placesTaken } = counts;
  const open = { inFlight, waiting, failed, unknown, atLeast };
  return { shard, layout, ...open, oldestMs, oldestUnknownMs, oldestWaitingMs, placesTaken, bytes };
}
