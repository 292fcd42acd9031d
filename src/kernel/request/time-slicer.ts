// Runs long computations in slices, so that the isolate can answer other requests between two slices. Only one runs at a time,
// because many half-done ones would need more memory than an isolate has. The others wait, in the order in which they came.

export interface SliceClock {
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** Whoever waits for a computation. */
export interface WaitingCaller {
  /** The runtime never resumes a computation whose client has disconnected. This signal tells. */
  readonly signal: AbortSignal;
}

/** How often a waiting computation checks that the first in the row goes on. */
const CHECK_MS = 50;

/**
 * After so many checks without a slice of the first computation, it counts as abandoned. Only needed where no signal tells
 * (the flag enable_request_signal is off).
 */
const ABANDONED_CHECKS = 2;

const CLOCK: SliceClock = {
  pause: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
  now: () => performance.now(),
};

/** A place in the row. */
interface Turn {
  /** How many slices it has run. */
  slices: number;
  /** It has become the first. */
  wake: () => void;
}

export class TimeSlicer {
  readonly #clock: SliceClock;
  /** The first one runs. */
  readonly #row = new Set<Turn>();

  constructor(clock: SliceClock = CLOCK) {
    this.#clock = clock;
  }

  /** Returns what `work` returns. Pauses at each `yield`. Work without a `yield` never waits for other work. */
  async run<T>(work: Generator<undefined, T>, caller: WaitingCaller | null = null): Promise<T> {
    let step = work.next();
    if (step.done === true) return step.value;
    const turn: Turn = { slices: 0, wake: () => undefined };
    const leave = (): void => this.#leave(turn);
    this.#row.add(turn);
    caller?.signal.addEventListener("abort", leave);
    try {
      if (this.#first !== turn) await this.#becomeFirst(turn);
      while (step.done !== true) {
        await this.#clock.pause(0);
        turn.slices += 1;
        step = work.next();
      }
      return step.value;
    } finally {
      leave();
      caller?.signal.removeEventListener("abort", leave);
    }
  }

  get #first(): Turn | null {
    for (const turn of this.#row) return turn;
    return null;
  }

  #leave(turn: Turn): void {
    const wasFirst = this.#first === turn;
    this.#row.delete(turn);
    const [next] = this.#row;
    if (wasFirst) next?.wake();
  }

  async #becomeFirst(turn: Turn): Promise<void> {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    turn.wake = resolve;
    let seen = this.#first;
    let slices = seen?.slices ?? 0;
    let checks = 0;
    // One that was taken for abandoned is not in the row, and goes on beside the others.
    while (this.#row.has(turn) && this.#first !== turn) {
      await Promise.race([woken, this.#clock.pause(CHECK_MS)]);
      const first = this.#first;
      const goesOn = first !== seen || first?.slices !== slices;
      checks = goesOn ? 0 : checks + 1;
      seen = first;
      slices = first?.slices ?? 0;
      if (checks >= ABANDONED_CHECKS && first !== null && first !== turn) this.#leave(first);
    }
  }
}
