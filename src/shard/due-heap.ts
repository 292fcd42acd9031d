// Times in the order in which they come, as a binary heap. Each entry knows its place, so that one among thousands is taken
// out or moved in a few steps. The commonest move costs none: one that is put off stays where it is until its old time comes.

export interface DueEntry {
  /** When it is due. Infinity: never, as long as it is not moved. */
  at: number;
  /** Its place in the heap; -1: it is in none. Kept by the heap alone. */
  index: number;
}

export class DueHeap<Entry extends DueEntry> {
  /** By the times at which they are to be looked at: never later than they are due. */
  readonly #entries: Entry[] = [];
  readonly #lookAt: number[] = [];

  /** No later than the earliest of all is due; `null` when there is none. */
  get earliest(): number | null {
    return this.#lookAt[0] ?? null;
  }

  /** Puts an entry to its time, new or moved. */
  put(entry: Entry): void {
    if (entry.index === -1) {
      if (entry.at === Number.POSITIVE_INFINITY) return;
      this.#rise(this.#entries.length, entry, entry.at);
    } else if (entry.at < (this.#lookAt[entry.index] ?? 0)) this.#rise(entry.index, entry, entry.at);
  }

  remove(entry: Entry): void {
    const { index } = entry;
    if (index === -1) return;
    entry.index = -1;
    const last = this.#entries.pop();
    const lookAt = this.#lookAt.pop();
    if (last === undefined || lookAt === undefined || last === entry) return;
    if (lookAt < (this.#lookAt[index] ?? 0)) this.#rise(index, last, lookAt);
    else this.#sink(index, last, lookAt);
  }

  /** Takes out all that are due by `now`, the earliest first. */
  takeDue(now: number): readonly Entry[] {
    const due: Entry[] = [];
    for (;;) {
      const [entry] = this.#entries;
      const [lookAt] = this.#lookAt;
      if (entry === undefined || lookAt === undefined || lookAt > now) return due;
      if (entry.at <= now) {
        this.remove(entry);
        due.push(entry);
      }
      // It has been put off since.
      else if (entry.at === Number.POSITIVE_INFINITY) this.remove(entry);
      else this.#sink(0, entry, entry.at);
    }
  }

  /** Finds the place of an entry at `index` or nearer to the front. */
  #rise(index: number, entry: Entry, lookAt: number): void {
    let at = index;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = this.#entries[above];
      const otherAt = this.#lookAt[above];
      if (other === undefined || otherAt === undefined || otherAt <= lookAt) break;
      this.#set(at, other, otherAt);
      at = above;
    }
    this.#set(at, entry, lookAt);
  }

  /** Finds the place of an entry at `index` or further back. */
  #sink(index: number, entry: Entry, lookAt: number): void {
    let at = index;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const isRight = (this.#lookAt[right] ?? Number.POSITIVE_INFINITY) < (this.#lookAt[left] ?? 0);
      const below = isRight ? right : left;
      const other = this.#entries[below];
      const otherAt = this.#lookAt[below];
      if (other === undefined || otherAt === undefined || otherAt >= lookAt) break;
      this.#set(at, other, otherAt);
      at = below;
    }
    this.#set(at, entry, lookAt);
  }

  #set(index: number, entry: Entry, lookAt: number): void {
    this.#entries[index] = entry;
    this.#lookAt[index] = lookAt;
    entry.index = index;
  }
}
