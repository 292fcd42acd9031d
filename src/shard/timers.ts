// All timers of an object, on one timer of the runtime. Runtime timers are expensive: an exchange needs two or three, most of which
// never fire, and an object may have at most 10,000 (platform rule); setting one more throws. The runtime's timer is cancelled when
// nothing is due, because a pending timer keeps the object in memory. Times are monotonic, because they are durations.

import { type RaceTimer, raceTimer } from "../http/first-of.ts";

/** Work that runs at its time. */
export interface Due extends RaceTimer {
  /** Sets its time to `afterMs` from now. Does nothing after `cancel`. */
  move(afterMs: number): void;
  /** Final. Must also be called after the work has run. */
  cancel(): void;
}

/** The first time the runtime's timer fires: most exchanges have ended by then, so most of their timers need no other one. */
const FIRST_CHECK_MS = 100;

interface Entry extends DueEntry {
  readonly run: () => void;
  isCancelled: boolean;
}

export class Timers {
  readonly #due = new DueHeap<Entry>();
  /** How many are set and not cancelled, including those that are never due and therefore not in the heap. */
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Never later than the earliest entry is due; earlier if that entry was postponed or cancelled. */
  #firesAt = Number.POSITIVE_INFINITY;

  /** Calls `run` after `afterMs`, and not again until it is moved. An exception is logged and affects no other work. */
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

  /** The value of `promise`, or `null` after `ms`. */
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
      // The object has no timer left. The next `set` tries again. Only logged, so that no exchange loses its answer.
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
      // An entry that ran earlier in this loop has cancelled or moved it.
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

  /** Removes and returns all entries that are due by `now`, earliest first. */
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
