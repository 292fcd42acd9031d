// Whose accepted request begins when a place is free. Callers are spread over a few lanes by a digest of who they are, and the lanes
// take turns: a caller with a thousand slow requests delays those that share its lane, and no others. (Stochastic fair queueing:
// P. E. McKenney, IEEE INFOCOM 1990. A lane for each caller would need a search among all callers.)

/** How many lanes a shard has. */
export const LANES = 16;

/** The lane of a caller, of whom `digest` is a digest in hexadecimal digits. */
export function laneOf(digest: string): number {
  return Number.parseInt(digest.slice(0, 4), 16) % LANES;
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
