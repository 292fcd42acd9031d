// Whose turn it is in a shard: for a place of an accepted request, for a place to wait, for a verification at the origin, for an event's
// destination. Callers are spread over a few lanes by a hash of who they are, and the lanes take turns: a caller with a thousand slow
// requests delays those that share its lane, and no others. (Stochastic fair queueing:
// P. E. McKenney, IEEE INFOCOM 1990. A lane for each caller would need a search among all callers.)

/** How many lanes a shard has for callers. */
export const LANES = 16;

/** The lane of what the gateway tells by itself, beside those of all callers. */
export const OWN_LANE = LANES;

/**
 * The lane of a caller. `whose` says who it is, as far as that is certain: what anybody can make up would give one caller all lanes. The
 * hash (FNV-1a) spreads callers evenly and need not be secure: whoever wants to share a lane with another finds it in sixteen tries.
 */
export function laneOf(whose: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < whose.length; at += 1) hash = Math.imul(hash ^ whose.charCodeAt(at), 0x01000193);
  return ((hash >>> 16) ^ (hash & 0xffff)) % LANES;
}

/** The first request that waits in a lane, and since when it is due. */
export interface LaneHead {
  readonly lane: number;
  readonly at: number;
}

/**
 * The lane whose first request begins next: one with the fewest attempts running, of these the one whose first request has been due for
 * longest. `null` if none is due.
 */
export function nextLane<Head extends LaneHead>(
  due: readonly Head[],
  running: ReadonlyMap<number, number>,
): Head | null {
  const runningIn = ({ lane }: LaneHead): number => running.get(lane) ?? 0;
  const [next = null] = due.toSorted((one, other) => runningIn(one) - runningIn(other) || one.at - other.at);
  return next;
}
