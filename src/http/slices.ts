// Work that takes the processor for long, in slices: between two of them the isolate answers whoever else has come. One at
// a time does such work, since many that are half done would hold more memory than an isolate has; the others wait.

export interface SliceClock {
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** How often one that waits asks whether it is its turn. */
const ASK_MS = 10;

/** One whose client has left is never resumed and never says so. A living one is seen after every slice. */
const GONE_MS = 100;

const CLOCK: SliceClock = {
  pause: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
  now: () => performance.now(),
};

export class Slices {
  readonly #clock: SliceClock;
  #working: { seenAt: number } | null = null;

  constructor(clock: SliceClock = CLOCK) {
    this.#clock = clock;
  }

  /** What `work` returns. It pauses after each slice; what is done in one never waits for others. */
  async run<T>(work: Generator<undefined, T>): Promise<T> {
    let step = work.next();
    if (step.done === true) return step.value;
    while (this.#working !== null && this.#clock.now() - this.#working.seenAt <= GONE_MS) {
      await this.#clock.pause(ASK_MS);
    }
    const own = { seenAt: this.#clock.now() };
    this.#working = own;
    try {
      while (step.done !== true) {
        await this.#clock.pause(0);
        own.seenAt = this.#clock.now();
        step = work.next();
      }
      return step.value;
    } finally {
      if (this.#working === own) this.#working = null;
    }
  }
}
