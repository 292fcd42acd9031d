// Runs long computations in slices, so that the isolate can answer other requests between two slices. Only one runs at a time,
// because many half-done ones would need more memory than an isolate has. The others wait.

export interface SliceClock {
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** How often a waiting computation checks whether it may start. */
const POLL_MS = 10;

/**
 * After this long without a slice, the running computation counts as abandoned, because the runtime never resumes, and never
 * reports, a computation whose client disconnected.
 */
const ABANDONED_MS = 100;

const CLOCK: SliceClock = {
  pause: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
  now: () => performance.now(),
};

export class TimeSlicer {
  readonly #clock: SliceClock;
  /** The running computation, and when it began its last slice. */
  #current: { lastSliceAt: number } | null = null;

  constructor(clock: SliceClock = CLOCK) {
    this.#clock = clock;
  }

  /** Returns what `work` returns. Pauses at each `yield`. Work without a `yield` never waits for other work. */
  async run<T>(work: Generator<undefined, T>): Promise<T> {
    let step = work.next();
    if (step.done === true) return step.value;
    while (this.#current !== null && this.#clock.now() - this.#current.lastSliceAt <= ABANDONED_MS) {
      await this.#clock.pause(POLL_MS);
    }
    const own = { lastSliceAt: this.#clock.now() };
    this.#current = own;
    try {
      while (step.done !== true) {
        await this.#clock.pause(0);
        own.lastSliceAt = this.#clock.now();
        step = work.next();
      }
      return step.value;
    } finally {
      if (this.#current === own) this.#current = null;
    }
  }
}
