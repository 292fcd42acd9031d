// All that one shard can be asked for as numbers: what it has counted since it was last asked, and what it holds now.

import type { RouteNumbers } from "../traffic/route-counters.ts";
import type { AlarmNumbers } from "./alarm-lag.ts";
import type { Counts } from "./operator-calls.ts";

export interface ShardNumbers extends Counts {
  /** Counted since this was last asked for; who asks has to keep them (operator/traffic-reader.ts). */
  readonly routes: readonly RouteNumbers[];
  /** How long ago the oldest attempt that is in flight began; 0 where there is none. */
  readonly oldestMs: number;
  readonly callsInFlight: number;
  /** Attempts begun while as many others ran as the platform lets call at once. */
  readonly crowded: number;
  readonly alarm: AlarmNumbers;
}
