// All that one shard can be asked for as numbers: what it has counted since it is in memory, and what it holds now.

import type { RouteNumbers } from "../traffic/route-counters.ts";
import type { AlarmNumbers } from "./alarm-lag.ts";
import type { Counts } from "./operator-calls.ts";

export interface ShardNumbers extends Counts {
  readonly routes: readonly RouteNumbers[];
  /** How long ago the oldest attempt that is in flight began; 0 where there is none. */
  readonly oldestMs: number;
  readonly callsInFlight: number;
  /** Attempts begun while as many others ran as the platform lets call at once. */
  readonly crowded: number;
  readonly alarm: AlarmNumbers;
}
