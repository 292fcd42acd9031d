// Which ratios are reported, and the project's targets for them.

import { PEER_BARE } from "./peer.ts";
import type { RatioOf } from "./rounds.ts";

const MANY = { metric: "perSecond", connections: 16 } as const;

export const RATIOS: readonly RatioOf[] = [
  { name: "first_vs_straight", of: "first", to: "straight", ...MANY },
  { name: "first_vs_floor", of: "first", to: "floor", ...MANY, atLeast: 0.68 },
  { name: "first_cpu_vs_floor", of: "first", to: "floor", ...MANY, metric: "microsecondsPerRequest", atMost: 1.5 },
  { name: "replay_cold_cpu_vs_straight", of: "replay cold", to: "straight", ...MANY, metric: "microsecondsPerRequest" },
  { name: "first_cpu_vs_straight", of: "first", to: "straight", ...MANY, metric: "microsecondsPerRequest" },
  { name: "first_p50_vs_floor", of: "first", to: "floor", metric: "p50Ms", connections: 1, atMost: 1.4 },
  { name: "first_p99_vs_floor", of: "first", to: "floor", ...MANY, metric: "p99Ms", atMost: 2 },
  { name: "first_longest_vs_floor", of: "first", to: "floor", ...MANY, metric: "longestMs", atMost: 1.3 },
  { name: "replay_cold_p99_vs_floor", of: "replay cold", to: "floor", ...MANY, metric: "p99Ms", atMost: 1.5 },
  { name: "replay_hot_vs_straight", of: "replay hot", to: "straight", ...MANY, atLeast: 0.8 },
  { name: "replay_cold_vs_straight", of: "replay cold", to: "straight", ...MANY, atLeast: 0.62 },
  { name: "conflict_vs_straight", of: "conflict", to: "straight", ...MANY },
  { name: "mismatch_vs_straight", of: "mismatch", to: "straight", ...MANY },
  { name: "wait_vs_straight", of: "wait", to: "straight", ...MANY, atLeast: 0.5 },
  { name: "unprotected_vs_straight", of: "unprotected", to: "straight", ...MANY, atLeast: 0.95 },
  { name: "observed_vs_unprotected", of: "observed", to: "unprotected", ...MANY }, // feature: observe
  // feature: observe begins
  {
    name: "observed_p50_vs_unprotected",
    of: "observed",
    to: "unprotected",
    metric: "p50Ms",
    connections: 1,
    atMost: 1.05,
  },
  // feature: observe ends
  { name: "per_key_vs_first", of: "per-key", to: "first", ...MANY },
  { name: "floor_vs_straight", of: "floor", to: "straight", ...MANY },
  { name: "peer_always_vs_without", of: `${PEER_BARE} always`, to: PEER_BARE, ...MANY },
  { name: "peer_everysec_vs_without", of: `${PEER_BARE} everysec`, to: PEER_BARE, ...MANY },
  { name: "first_p50_vs_straight", of: "first", to: "straight", metric: "p50Ms", connections: 1 },
  { name: "replay_hot_p50_vs_straight", of: "replay hot", to: "straight", metric: "p50Ms", connections: 1 },
];
