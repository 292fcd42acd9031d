// What an object has to do after some time, all of it on one timer of the runtime. Those are dear, each exchange has two or
// three such times, most of which never come, and an object may have 10,000 of them at most (platform rule): beyond that,
// setting one throws, for whoever comes next. No timer is left when nothing is due: a pending one keeps the object in
// memory. By a clock that never goes back: how long something takes has nothing to do with the time of day.

import { DueHeap, type DueEntry } from "./due-heap.ts";

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
