// Things in the order of their times. Setting, moving and removing one among thousands takes a few steps, and none looks at all of
// them.

export interface DueEntry {
  /** When it is due. Infinity: never, unless it is moved. */
  at: number;
  /** Its index in the heap; -1: not in the heap. Only the heap writes it. */
  index: number;
}

/**
 * Entries in the order of their times, as a binary heap. Each entry knows its index, so that one among thousands is removed or
 * moved in a few steps. The most common move costs nothing: a postponed entry stays where it is until its old time comes.
 */
export class DueHeap<Item extends DueEntry> {
  /** Ordered by `#checkAt`, the time at which an entry is checked: never later than it is due. */
  readonly #entries: Item[] = [];
  readonly #checkAt: number[] = [];

  /** A time no later than the earliest entry is due; `null` when the heap is empty. */
  get earliest(): number | null {
    return this.#checkAt[0] ?? null;
  }

  /** Puts a new or moved entry at its place. */
  put(entry: Item): void {
    if (entry.index === -1) {
      if (entry.at === Number.POSITIVE_INFINITY) return;
      this.#rise(this.#entries.length, entry, entry.at);
    } else if (entry.at < (this.#checkAt[entry.index] ?? 0)) this.#rise(entry.index, entry, entry.at);
  }

  remove(entry: Item): void {
    const { index } = entry;
    if (index === -1) return;
    entry.index = -1;
    const last = this.#entries.pop();
    const checkAt = this.#checkAt.pop();
    if (last === undefined || checkAt === undefined || last === entry) return;
    if (checkAt < (this.#checkAt[index] ?? 0)) this.#rise(index, last, checkAt);
    else this.#sink(index, last, checkAt);
  }

  /** Removes and returns the entries that are due by `now`, earliest first, at most `limit`. */
  takeDue(now: number, limit = Number.POSITIVE_INFINITY): readonly Item[] {
    const due: Item[] = [];
    for (;;) {
      const [entry] = this.#entries;
      const [checkAt] = this.#checkAt;
      if (entry === undefined || checkAt === undefined || checkAt > now || due.length >= limit) return due;
      if (entry.at <= now) {
        this.remove(entry);
        due.push(entry);
      }
      // It has been postponed since.
      else if (entry.at === Number.POSITIVE_INFINITY) this.remove(entry);
      else this.#sink(0, entry, entry.at);
    }
  }

  /** Finds the place of an entry at `index` or nearer to the front. */
  #rise(index: number, entry: Item, checkAt: number): void {
    let at = index;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = this.#entries[above];
      const otherAt = this.#checkAt[above];
      if (other === undefined || otherAt === undefined || otherAt <= checkAt) break;
      this.#set(at, other, otherAt);
      at = above;
    }
    this.#set(at, entry, checkAt);
  }

  /** Finds the place of an entry at `index` or further back. */
  #sink(index: number, entry: Item, checkAt: number): void {
    let at = index;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const isRight = (this.#checkAt[right] ?? Number.POSITIVE_INFINITY) < (this.#checkAt[left] ?? 0);
      const below = isRight ? right : left;
      const other = this.#entries[below];
      const otherAt = this.#checkAt[below];
      if (other === undefined || otherAt === undefined || otherAt >= checkAt) break;
      this.#set(at, other, otherAt);
      at = below;
    }
    this.#set(at, entry, checkAt);
  }

  #set(index: number, entry: Item, checkAt: number): void {
    this.#entries[index] = entry;
    this.#checkAt[index] = checkAt;
    entry.index = index;
  }
}
