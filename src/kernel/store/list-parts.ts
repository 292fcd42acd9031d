// In how many parts a list goes through the records of a shard. Nothing orders records by time on the disk, so each part is sorted when
// it is read, and no part may be so large that requests wait long behind it. Slots are spread evenly, so a part of all slots has that
// part of all records.

import { type SlotRange, WHOLE_BUCKET } from "./record-numbers.ts";

/** Rows in a part of a shard, about: one part may have some more than another. */
export const MAX_CANDIDATES = 4000;
/** A list that is being read goes on with its parts while they have at most so many rows. */
export const MAX_GROWN = 4 * MAX_CANDIDATES;
/** Beyond what a shard can hold. A power of two, as all numbers of parts are. */
export const MAX_PARTS = 2 ** 16;

/** The slots of a part, counted from 0. */
export function slotsOf(parts: number, part: number): SlotRange {
  const size = (WHOLE_BUCKET.through + 1) / parts;
  return { from: part * size, through: (part + 1) * size - 1 };
}

/**
 * The number of parts that a shard needs, beginning with the last one. It is halved only when parts have become small, so that the
 * shards of a list, whose records differ a little in number, agree.
 */
export function chooseParts(last: number, candidatesIn: (parts: number) => number): number {
  let parts = last;
  while (parts > 1 && candidatesIn(parts) <= MAX_CANDIDATES / 4) parts /= 2;
  while (parts < MAX_PARTS && candidatesIn(parts) > MAX_CANDIDATES) parts *= 2;
  return parts;
}
