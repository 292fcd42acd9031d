// How far a group of consumers has read in a partition: where it goes on reading after a restart. It saves reading again; what is
// read again all the same has its record, so nothing depends on it.

import type { Position } from "./events.ts";

/**
 * Messages that have been claimed, without a gap as far as their claims say: from `first` to `to`. `after`: the message before `first`,
 * which has not been claimed; `null`: no claim names one.
 */
export interface OffsetRange {
  readonly first: number;
  readonly to: number;
  readonly after: number | null;
}

/** What is stored of a partition. */
export interface StoredPosition {
  /** Where to go on. It never goes back, unless an operator sets it. */
  readonly next: number;
  /** One more than the highest offset that was completed. */
  readonly done: number;
  /** Messages from `next` on that have been claimed, in order. */
  readonly claimed: readonly OffsetRange[];
}

/** Each is a message that was never claimed, although a later one was: bounds what a row holds. Further ones are claimed again. */
const MAX_STRETCHES = 100;

/** The stretches with one more claim. Those beyond the bound are forgotten, so that the position waits for them too. */
export function withClaim(
  claimed: readonly OffsetRange[],
  { offset, previous = null }: Pick<Position, "offset" | "previous">,
): readonly OffsetRange[] {
  if (claimed.some(({ first, to }) => first <= offset && offset <= to)) return claimed;
  const list = [...claimed, { first: offset, to: offset, after: previous }].toSorted(
    (one, other) => one.first - other.first,
  );
  return joined(list).slice(0, MAX_STRETCHES);
}

/** A stretch goes on from the one below it, unless a message between them is named that is in neither. */
function joined(list: readonly OffsetRange[]): readonly OffsetRange[] {
  const all: OffsetRange[] = [];
  for (const one of list) {
    const below = all.at(-1);
    if (below === undefined || !isReached(one, below.to + 1)) all.push(one);
    else all[all.length - 1] = { ...below, to: Math.max(below.to, one.to) };
  }
  return all;
}

/** Whether no message is missing between those before `next` and the stretch. */
function isReached({ after }: OffsetRange, next: number): boolean {
  return after === null || after < next;
}

/** The first message from `next` on that was never claimed. */
function unclaimedFrom(claimed: readonly OffsetRange[], next: number): number {
  let reach = next;
  for (const one of claimed) {
    if (!isReached(one, reach)) break;
    reach = Math.max(reach, one.to + 1);
  }
  return reach;
}

/** Where a group begins of which nothing is stored; `null`: it has no claim. */
function beginOf([lowest]: readonly OffsetRange[]): number | null {
  return lowest === undefined ? null : (lowest.after ?? lowest.first);
}

/**
 * The position when `open` is the lowest offset that is claimed and not completed; `null`: there is none. A parallel consumer that
 * completes 7 before 5 must come back to 5, so `next` is never past an open offset. Nor is it past one that was never claimed, if the claim of
 * the message after it has named it: that claim may have been lost on its way.
 */
export function nextPosition(
  stored: Pick<StoredPosition, "next" | "done"> | null,
  claimed: readonly OffsetRange[],
  open: number | null,
): number | null {
  if (stored !== null) {
    const unclaimed = unclaimedFrom(claimed, stored.next);
    return Math.max(stored.next, Math.min(stored.done, unclaimed, open ?? stored.done));
  }
  const begin = beginOf(claimed);
  if (open === null || begin === null) return open;
  return Math.min(open, unclaimedFrom(claimed, begin));
}

/** What is stored after `offset` was completed. `open` is the lowest of those that are still open then. */
export function afterCompletion(
  stored: StoredPosition | null,
  claimed: readonly OffsetRange[],
  offset: number,
  open: number | null,
): StoredPosition {
  const done = Math.max(stored?.done ?? 0, offset + 1);
  // The first completion says where the group begins.
  const before = stored?.next ?? Math.min(beginOf(claimed) ?? offset, open ?? offset, offset);
  const next = nextPosition({ next: before, done }, claimed, open) ?? before;
  return { next, done, claimed: claimed.filter(({ to }) => to >= next) };
}

/**
 * What is stored when an operator has set the position. Forward, past what is not to be read: what has been claimed beyond it still counts.
 * Back, to read again: nothing does, so that the position waits for each message.
 */
export function setTo(next: number, stored: StoredPosition | null, claimed: readonly OffsetRange[]): StoredPosition {
  if (stored === null || next < stored.next) return { next, done: next, claimed: [] };
  return { next, done: Math.max(stored.done, next), claimed: claimed.filter(({ to }) => to >= next) };
}

/** What one object knows of a partition. */
export interface PartitionPosition {
  /** `null`: nothing. */
  readonly next: number | null;
  /** Whether a message at `next` or after it is open, or was never claimed. */
  readonly isHeld: boolean;
}

/** While the layout changes, records of a partition are in several objects: the position is never past what one of them waits for. */
export function joinedPosition(parts: readonly PartitionPosition[]): number | null {
  const known = parts.flatMap(({ next, isHeld }) => (next === null ? [] : [{ next, isHeld }]));
  if (known.length === 0) return null;
  const held = known.filter(({ isHeld }) => isHeld).map(({ next }) => next);
  return held.length > 0 ? Math.min(...held) : Math.max(...known.map(({ next }) => next));
}
