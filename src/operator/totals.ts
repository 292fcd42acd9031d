// What the shards hold together.

import type { OpenState } from "../core/record.ts";
import type { ShardCounts } from "./operator.ts";

export type Totals = Pick<ShardCounts, "inFlight" | "failed" | "unknown" | "atLeast">;

export function totalOf(shards: readonly ShardCounts[]): Totals {
  const sum = (of: "inFlight" | OpenState): number => shards.reduce((total, shard) => total + shard[of], 0);
  return {
    inFlight: sum("inFlight"),
    failed: sum("failed"),
    unknown: sum("unknown"),
    atLeast: (["failed", "unknown"] as const).filter((of) => shards.some(({ atLeast }) => atLeast.includes(of))),
  };
}
