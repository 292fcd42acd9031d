// All timers of an object, on one timer of the runtime. Runtime timers are expensive: an exchange needs two or three, most of which
// never fire, and an object may have at most 10,000 (platform rule); setting one more throws. The runtime's timer is cancelled when
// nothing is due, because a pending timer keeps the object in memory. Times are monotonic, because they are durations.

import { type DueEntry, DueHeap } from "../record/due-heap.ts";
import { type RaceTimer, raceTimer } from "../request/first-of.ts";

/** Work that runs at its time. */
export interface ScheduledWork extends RaceTimer {
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

export class ObjectTimers {
  readonly #due = new DueHeap<Entry>();
  /** How many are set and not cancelled, including those that are never due and therefore not in the heap. */
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Never later than the earliest entry is due; earlier if that entry was postponed or cancelled. */
  #firesAt = Number.POSITIVE_INFINITY;

  /** Calls `run` after `afterMs`, and not again until it is moved. An exception is logged and affects no other work. */
  set(afterMs: number, run: () => void): ScheduledWork {
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
