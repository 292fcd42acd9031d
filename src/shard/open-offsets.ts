// The lowest offset of a partition that is claimed and not completed. Kept in memory, since every claim would pay a row for an index
// of them: an instance reads once what earlier instances left. Whether a claim is still open is looked up only for the lowest one, so
// that whatever else ends a record (its expiry, an operator) need not tell this.

import { type DueEntry, DueHeap } from "../core/due-heap.ts";
import type { RecordId } from "../core/units.ts";
import type { ClaimedOffset, Partition } from "./store/positions.ts";

interface OpenOffset extends DueEntry {
  readonly id: RecordId;
}

interface OpenPartition {
  readonly heap: DueHeap<OpenOffset>;
  readonly byId: Map<RecordId, OpenOffset>;
}

export class OpenOffsets {
  readonly #read: () => readonly ClaimedOffset[];
  readonly #isOpen: (id: RecordId) => boolean;
  #partitions: Map<string, OpenPartition> | null = null;

  /** `read`: what earlier instances left. `isOpen`: whether the record is claimed and not completed. */
  constructor(read: () => readonly ClaimedOffset[], isOpen: (id: RecordId) => boolean) {
    this.#read = read;
    this.#isOpen = isOpen;
  }

  /** Notes a claim that was granted. */
  add(claimed: ClaimedOffset): void {
    // Otherwise it is read with the others when they are needed.
    if (this.#partitions !== null) put(this.#partitions, claimed);
  }

  /** A claim that has been completed, so that those behind an open one do not gather here. */
  remove(partition: Partition, id: RecordId): void {
    const open = this.#partitions?.get(nameOf(partition));
    const entry = open?.byId.get(id);
    if (open === undefined || entry === undefined) return;
    open.heap.remove(entry);
    open.byId.delete(id);
  }

  /** The lowest open offset, `except` for this record; `null`: there is none. */
  lowest(partition: Partition, except: RecordId | null): number | null {
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
    for (const claimed of this.#read()) put(partitions, claimed);
    this.#partitions = partitions;
    return partitions;
  }
}

function put(partitions: Map<string, OpenPartition>, { id, offset, ...partition }: ClaimedOffset): void {
  const name = nameOf(partition);
  const open = partitions.get(name) ?? { heap: new DueHeap<OpenOffset>(), byId: new Map<RecordId, OpenOffset>() };
  partitions.set(name, open);
  const before = open.byId.get(id);
  if (before !== undefined) open.heap.remove(before);
  const entry = { id, at: offset, index: -1 };
  open.byId.set(id, entry);
  open.heap.put(entry);
}

function nameOf({ route, stream, partition }: Partition): string {
  return JSON.stringify([route, stream, partition]);
}
