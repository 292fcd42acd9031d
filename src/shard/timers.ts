// What an object has to do after some time, all of it on one timer of the runtime: those are dear, and each exchange has two
// or three such times, most of which never come. No timer is left when nothing is due: a pending one keeps the object in
// memory. By a clock that never goes back: how long something takes has nothing to do with the time of day.

/** Something that is to be done at its time. */
export interface Due {
  /** Puts it off: `afterMs` from now. Nothing, when it has been cancelled. */
  move(afterMs: number): void;
  /** For good: to be called also when it has been done. */
  cancel(): void;
}

export class Timers {
  readonly #all = new Set<Entry>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Never later than the earliest of all; often earlier, where that has been put off or cancelled. */
  #firesAt = Number.POSITIVE_INFINITY;

  /** Calls `run` after `afterMs`, and not again until it is moved. It must not throw. */
  set(afterMs: number, run: () => void): Due {
    const now = performance.now();
    const entry: Entry = { at: now + afterMs, run };
    this.#all.add(entry);
    if (this.#timer === null) this.#arm(Math.min(entry.at, now + FIRST_LOOK_MS));
    else this.#fireBy(entry.at);
    return {
      move: (ms) => {
        if (!this.#all.has(entry)) return;
        entry.at = performance.now() + ms;
        this.#fireBy(entry.at);
      },
      cancel: () => {
        this.#all.delete(entry);
        if (this.#all.size === 0) this.#stop();
      },
    };
  }

  #fireBy(at: number): void {
    if (at >= this.#firesAt) return;
    this.#stop();
    this.#arm(at);
  }

  #arm(at: number): void {
    this.#firesAt = at;
    this.#timer = setTimeout(() => this.#fire(), at - performance.now());
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#stop();
    const now = performance.now();
    for (const entry of this.#all) {
      if (entry.at > now) continue;
      entry.at = Number.POSITIVE_INFINITY;
      entry.run();
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (const { at } of this.#all) earliest = Math.min(earliest, at);
    if (earliest !== Number.POSITIVE_INFINITY) this.#fireBy(earliest);
  }
}

/** Most exchanges are over by then; what else they set for no sooner than that needs no other timer. */
const FIRST_LOOK_MS = 100;

interface Entry {
  /** Infinity: done, and not moved since. */
  at: number;
  readonly run: () => void;
}
