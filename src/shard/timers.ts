// The timers of an object, all of them on one timer of the runtime. Timers of the runtime are expensive: an exchange needs two or
// three, most of which never fire, and an object may have at most 10,000 (platform rule); the one after that throws. The runtime's
// timer is cancelled when nothing is due, because a pending one keeps the object in memory. Times are by a clock that never goes
// back, since a duration has nothing to do with the time of day.

import { type RaceTimer, raceTimer } from "../http/first-of.ts";

/** Work that is to be done at its time. */
export interface Due extends RaceTimer {
  /** Puts it off: to `afterMs` from now. Does nothing after `cancel`. */
  move(afterMs: number): void;
  /** For good. To be called also when the work has been done. */
  cancel(): void;
}

/** Most exchanges are over by then, so most of what they set needs no other timer. */
const FIRST_CHECK_MS = 100;

interface Entry extends DueEntry {
  readonly run: () => void;
  isCancelled: boolean;
}

export class Timers {
  readonly #due = new DueHeap<Entry>();
  /** How many have been set and not cancelled, also those that are never due and in no heap. */
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Never later than the earliest of them; often earlier, where that one has been put off or cancelled. */
  #firesAt = Number.POSITIVE_INFINITY;

  /** Calls `run` after `afterMs`, and not again until it is moved. What it throws is logged, and affects no other work. */
  set(afterMs: number, run: () => void): Due {
    const now = performance.now();
    const entry: Entry = { at: now + afterMs, index: -1, run, isCancelled: false };
    this.#count += 1;
    this.#due.put(entry);
    if (this.#timer === null) this.#arm(Math.min(entry.at, now + FIRST_CHECK_MS));
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
  firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null> {
    return raceTimer(() => promise, ms, this);
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
      // The object has no timer left. The next `set` tries again; no exchange may lose its answer for this.
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
      // Work before it has cancelled or moved it.
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

export interface DueEntry {
  /** When it is due. Infinity: never, as long as it is not moved. */
  at: number;
  /** Its place in the heap; -1: it is in none. Only the heap writes it. */
  index: number;
}

/**
 * Entries in the order of their times, as a binary heap. Each knows its place, so that one among thousands is taken out or
 * moved in a few steps. The commonest move costs nothing: an entry that is put off stays where it is until its old time comes.
 */
export class DueHeap<Item extends DueEntry> {
  /** Ordered by `#checkAt`, the time at which an entry is looked at: never later than it is due. */
  readonly #entries: Item[] = [];
  readonly #checkAt: number[] = [];

  /** No later than the earliest entry is due; `null` when there is none. */
  get earliest(): number | null {
    return this.#checkAt[0] ?? null;
  }

  /** Puts an entry, new or moved, where its time belongs. */
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

  /** Takes out all entries that are due by `now`, the earliest first. */
  takeDue(now: number): readonly Item[] {
    const due: Item[] = [];
    for (;;) {
      const [entry] = this.#entries;
      const [checkAt] = this.#checkAt;
      if (entry === undefined || checkAt === undefined || checkAt > now) return due;
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
