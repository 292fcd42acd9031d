// How full a shard may be. Requests come at random, so calls wait for each other long before six are always in flight. Pure.
//
// The model is a queue with c servers to which requests come at random and whose calls last at random (M/M/c, Erlang's formula C;
// https://en.wikipedia.org/wiki/M/M/c_queue). Origins that always take equally long make calls wait about half as long.

import { CALLS_AT_ONCE } from "./prices.ts";

/**
 * What a number of shards is enough for: this share of each limit. At 60% of the calls one in five waits, all of them for 8% of
 * the origin's time on average; at 78% every second one, at 100% all, longer and longer. Shards get unequal numbers of keys, hence
 * a fifth of the storage is left.
 */
export const ENOUGH = { calls: 0.6, storage: 0.8 } as const;

/** How the calls of a shard's first requests wait for each other. */
export interface Waiting {
  /** The share of calls that wait. */
  readonly share: number;
  /** How long calls wait, on average over all of them; `null`: longer and longer. */
  readonly meanMs: number | null;
}

/** `callsAtOnce`: in flight at the peak on average, in one shard. */
export function waiting(callsAtOnce: number, originMs: number): Waiting {
  const used = callsAtOnce / CALLS_AT_ONCE;
  if (used >= 1) return { share: 1, meanMs: null };
  const share = erlangC(CALLS_AT_ONCE, callsAtOnce);
  return { share, meanMs: (share * originMs) / (CALLS_AT_ONCE * (1 - used)) };
}

/** The share of calls that find all `servers` busy, when `load` of them are busy on average. */
export function erlangC(servers: number, load: number): number {
  let blocked = 1;
  for (let count = 1; count <= servers; count += 1) blocked = (load * blocked) / (count + load * blocked);
  const used = load / servers;
  return blocked / (1 - used + used * blocked);
}

/** The fewest shards that bear this peak of first requests per second. */
export function shardsNeeded(peakPerSecond: number, originSeconds: number): number {
  // A hair below, so that what is whole but for rounding is not rounded up.
  return Math.max(1, Math.ceil((peakPerSecond * originSeconds) / (CALLS_AT_ONCE * ENOUGH.calls) - 1e-9));
}
