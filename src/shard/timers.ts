// What an object has to do after some time, all of it on one timer of the runtime. Those are dear, each exchange has two or
// three such times, most of which never come, and an object may have 10,000 of them at most (platform rule): beyond that,
// setting one throws, for whoever comes next. No timer is left when nothing is due: a pending one keeps the object in
// memory. By a clock that never goes back: how long something takes has nothing to do with the time of day.

/** Something that is to be done at its time. */
export interface Due {
  /** Puts it off: `afterMs` from now. Nothing, when it has been cancelled. */
  move(afterMs: number): void;
  /** For good: to be called also when it has been done. */
  cancel(): void;
}

/** Most exchanges are over by then; what else they set for no sooner than that needs no other timer. */
const FIRST_LOOK_MS = 100;

interface Entry extends DueEntry {
  readonly run: () => void;
  isCancelled: boolean;
}

export class Timers {
  readonly #due = new DueHeap<Entry>();
  /** How many have been set and not cancelled; those that are due never are in no heap. */
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Never later than the earliest of all; often earlier, where that has been put off or cancelled. */
  #firesAt = Number.POSITIVE_INFINITY;

  /** Calls `run` after `afterMs`, and not again until it is moved. What it throws is logged, and concerns nobody else. */
  set(afterMs: number, run: () => void): Due {
    const now = performance.now();
    const entry: Entry = { at: now + afterMs, index: -1, run, isCancelled: false };
    this.#count += 1;
    this.#due.put(entry);
    if (this.#timer === null) this.#arm(Math.min(entry.at, now + FIRST_LOOK_MS));
    else this.#fireBy(entry.at);
    return {
      move: (ms) => {
        if (entry.isCancelled) return;
        entry.at = performance.now() + ms;
        this.#due.put(entry);
        this.#fireBy(entry.at);
      },
      cancel: () => {
        if (entry.isCancelled) return;
        entry.isCancelled = true;
        this.#due.remove(entry);
        this.#count -= 1;
        if (this.#count === 0) this.#stop();
      },
    };
  }

  /** What `promise` resolves with, or `null` after `ms`. */
  async firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null> {
    const { promise: timeUp, resolve } = Promise.withResolvers<null>();
    const due = this.set(ms, () => resolve(null));
    try {
      return await Promise.race([promise, timeUp]);
    } finally {
      due.cancel();
    }
  }

  #fireBy(at: number): void {
    if (at >= this.#firesAt) return;
    this.#stop();
    this.#arm(at);
  }

  #arm(at: number): void {
    try {
      this.#timer = setTimeout(() => this.#fire(), at - performance.now());
      this.#firesAt = at;
    } catch (error) {
      // The object has no timer left. Whoever sets the next time tries again; nobody may lose an answer for it.
      console.error({ message: "no timer could be set", reason: String(error) });
    }
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#stop();
    const now = performance.now();
    for (const entry of this.#due.takeDue(now)) {
      // The work of another one has cancelled or moved it.
      if (entry.isCancelled || entry.index !== -1 || entry.at > now) continue;
      try {
        entry.run();
      } catch (error) {
        console.error({ message: "a timer's work failed", reason: String(error) });
      }
    }
    const next = this.#due.earliest;
    if (next !== null) this.#fireBy(next);
  }
}

/**
 * Times in the order in which they come, as a binary heap. Each entry knows its place, so that one among thousands is
 * taken out or moved in a few steps. The commonest move costs none: one that is put off stays where it is until its
 * old time comes.
 */
export interface DueEntry {
  /** When it is due. Infinity: never, as long as it is not moved. */
  at: number;
  /** Its place in the heap; -1: it is in none. Kept by the heap alone. */
  index: number;
}

export class DueHeap<Item extends DueEntry> {
  /** By the times at which they are to be looked at: never later than they are due. */
  readonly #entries: Item[] = [];
  readonly #lookAt: number[] = [];

  /** No later than the earliest of all is due; `null` when there is none. */
  get earliest(): number | null {
    return this.#lookAt[0] ?? null;
  }

  /** Puts an entry to its time, new or moved. */
  put(entry: Item): void {
    if (entry.index === -1) {
      if (entry.at === Number.POSITIVE_INFINITY) return;
      this.#rise(this.#entries.length, entry, entry.at);
    } else if (entry.at < (this.#lookAt[entry.index] ?? 0)) this.#rise(entry.index, entry, entry.at);
  }

  remove(entry: Item): void {
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
  takeDue(now: number): readonly Item[] {
    const due: Item[] = [];
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
  #rise(index: number, entry: Item, lookAt: number): void {
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
  #sink(index: number, entry: Item, lookAt: number): void {
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

  #set(index: number, entry: Item, lookAt: number): void {
    this.#entries[index] = entry;
    this.#lookAt[index] = lookAt;
    entry.index = index;
  }
}
