// The offsets of a partition that are claimed and not completed, and which messages have been claimed at all. Kept in memory, since every claim would pay a row for an index
// of them: an instance reads once what earlier instances left. Whether a claim is still open is looked up only for the lowest one, so
// that whatever else ends a record (its expiry, an operator) need not tell this.

import type { Position } from "../../../kernel/record/events.ts";
import { type DueEntry, DueHeap } from "../../../kernel/record/due-heap.ts";
import { type OffsetRange, withClaim } from "../../../kernel/record/position.ts";
import type { RecordId } from "../../../kernel/record/units.ts";
import type { ClaimedOffset, GroupPartition } from "./position-rows.ts";

interface OpenOffset extends DueEntry {
  readonly id: RecordId;
}

interface OpenPartition {
  readonly heap: DueHeap<OpenOffset>;
  readonly byId: Map<RecordId, OpenOffset>;
  /** Open, completed, or answered in another way. */
  claimed: readonly OffsetRange[];
}

export class OpenOffsets {
  readonly #read: () => readonly ClaimedOffset[];
  readonly #isOpen: (id: RecordId) => boolean;
  readonly #stored: (partition: GroupPartition) => readonly OffsetRange[];
  #partitions: Map<string, OpenPartition> | null = null;

  /**
   * `read`: what earlier instances left. `isOpen`: whether the record is claimed and not completed. `stored`: what is stored of messages that
   * have been claimed.
   */
  constructor(
    read: () => readonly ClaimedOffset[],
    isOpen: (id: RecordId) => boolean,
    stored: (partition: GroupPartition) => readonly OffsetRange[],
  ) {
    this.#read = read;
    this.#isOpen = isOpen;
    this.#stored = stored;
  }

  /** Notes a claim that was granted. */
  add(claimed: ClaimedOffset): void {
    // Otherwise it is read with the others when they are needed.
    if (this.#partitions !== null) this.#put(this.#partitions, claimed);
  }

  /** Notes a claim that was answered and not granted, or completed: its message has arrived. Returns all that have. */
  note(partition: GroupPartition, message: Pick<Position, "offset" | "previous">): readonly OffsetRange[] {
    const open = this.#partitionOf(this.#all(), partition);
    open.claimed = withClaim(open.claimed, message);
    return open.claimed;
  }

  /** The messages that have been claimed. */
  claimed(partition: GroupPartition): readonly OffsetRange[] {
    return this.#all().get(nameOf(partition))?.claimed ?? this.#stored(partition);
  }

  /** An operator has set the position, and what is stored with it counts alone. */
  reset(partition: GroupPartition): void {
    const open = this.#all().get(nameOf(partition));
    if (open !== undefined) open.claimed = this.#stored(partition);
  }

  /** A claim that has been completed, so that those behind an open one do not gather here. */
  remove(partition: GroupPartition, id: RecordId): void {
    const open = this.#partitions?.get(nameOf(partition));
    const entry = open?.byId.get(id);
    if (open === undefined || entry === undefined) return;
    open.heap.remove(entry);
    open.byId.delete(id);
  }

  /** The lowest open offset, `except` for this record; `null`: there is none. */
  lowest(partition: GroupPartition, except: RecordId | null): number | null {
    const open = this.#all().get(nameOf(partition));
    if (open === undefined) return null;
    const own = except === null ? undefined : open.byId.get(except);
    if (own !== undefined) open.heap.remove(own);
    const lowest = this.#lowestOf(open);
    // It is not completed yet.
    if (own !== undefined) open.heap.put(own);
    return lowest;
  }

  #lowestOf({ heap, byId }: OpenPartition): number | null {
    for (;;) {
      const [first] = heap.takeDue(Number.POSITIVE_INFINITY, 1);
      if (first === undefined) return null;
      if (this.#isOpen(first.id)) {
        heap.put(first);
        return first.at;
      }
      byId.delete(first.id);
    }
  }

  #all(): Map<string, OpenPartition> {
    if (this.#partitions !== null) return this.#partitions;
    const partitions = new Map<string, OpenPartition>();
    for (const claimed of this.#read()) this.#put(partitions, claimed);
    this.#partitions = partitions;
    return partitions;
  }

  #put(partitions: Map<string, OpenPartition>, claimed: ClaimedOffset): void {
    const { id, offset } = claimed;
    const open = this.#partitionOf(partitions, claimed);
    const before = open.byId.get(id);
    if (before !== undefined) open.heap.remove(before);
    const entry = { id, at: offset, index: -1 };
    open.byId.set(id, entry);
    open.heap.put(entry);
    open.claimed = withClaim(open.claimed, claimed);
  }

  #partitionOf(partitions: Map<string, OpenPartition>, partition: GroupPartition): OpenPartition {
    const name = nameOf(partition);
    const found = partitions.get(name);
    if (found !== undefined) return found;
    const made = {
      heap: new DueHeap<OpenOffset>(),
      byId: new Map<RecordId, OpenOffset>(),
      claimed: this.#stored(partition),
    };
    partitions.set(name, made);
    return made;
  }
}

function nameOf({ route, stream, partition }: GroupPartition): string {
  return JSON.stringify([route, stream, partition]);
}
