// How far a group of consumers has read in a partition: where it goes on reading after a restart. It saves reading again; what is
// read again all the same has its record, so nothing depends on it.

/** What is stored of a partition. */
export interface StoredPosition {
  /** Where to go on. It never goes back. */
  readonly next: number;
  /** One more than the highest offset that was completed. */
  readonly done: number;
}

/**
 * The position when `open` is the lowest offset that is claimed and not completed; `null`: there is none. A parallel consumer that
 * completes 7 before 5 must come back to 5, so `next` is never past an open offset. If the lowest open offset is further than what was
 * completed, what lies between may not have been claimed yet.
 */
export function nextPosition(stored: StoredPosition | null, open: number | null): number | null {
  if (stored === null) return open;
  return Math.max(stored.next, Math.min(stored.done, open ?? stored.done));
}

/** What is stored after `offset` was completed. `open` is the lowest of those that are still open then. */
export function afterCompletion(stored: StoredPosition | null, offset: number, open: number | null): StoredPosition {
  const done = Math.max(stored?.done ?? 0, offset + 1);
  // The first completion says where the group begins.
  const before = stored?.next ?? Math.min(offset, open ?? offset);
  return { done, next: nextPosition({ next: before, done }, open) ?? before };
}

/** What one object knows of a partition. */
export interface PartitionPosition {
  /** `null`: nothing. */
  readonly next: number | null;
  /** Whether an offset at `next` or after it is open. */
  readonly hasOpen: boolean;
}

/** While the layout changes, records of a partition are in several objects: the position is never past what one of them has open. */
export function joinedPosition(parts: readonly PartitionPosition[]): number | null {
  const known = parts.flatMap(({ next, hasOpen }) => (next === null ? [] : [{ next, hasOpen }]));
  if (known.length === 0) return null;
  const open = known.filter(({ hasOpen }) => hasOpen).map(({ next }) => next);
  return open.length > 0 ? Math.min(...open) : Math.max(...known.map(({ next }) => next));
}
