// What living attempts need again and again: their locks renewed well before they end, and the object kept in memory. One
// timer serves them all, since timers are dear.
//
// Kept in memory: the platform does so itself as long as a call is pending; local workerd drops an object that got no
// request for 70 to 140 seconds, and with it the call and its answer (measured). So an object with an attempt that is
// older than a request would be calls itself.

/** The longest pause between two looks. */
const MOST_MS = 5000;

/** Well below the time after which local workerd drops an object. */
const CALL_MS = 25_000;

interface Beating {
  readonly everyMs: number;
  readonly beat: () => void;
  readonly since: number;
  nextAt: number;
}

export class Heartbeat {
  readonly #call: () => Promise<unknown>;
  readonly #living = new Set<Beating>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #periodMs = Number.POSITIVE_INFINITY;
  #calledAt = Number.NEGATIVE_INFINITY;

  /** `call` makes some request to the object. */
  constructor(call: () => Promise<unknown>) {
    this.#call = call;
  }

  /** `beat` is called every `everyMs`, late by half of that at most, until what is given here is called. */
  begin(everyMs: number, beat: () => void): () => void {
    const now = performance.now();
    const one = { everyMs, beat, since: now, nextAt: now + everyMs };
    this.#living.add(one);
    const periodMs = Math.min(MOST_MS, everyMs / 2);
    if (periodMs < this.#periodMs) this.#start(periodMs);
    return () => {
      this.#living.delete(one);
      if (this.#living.size === 0) this.#stop();
    };
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#periodMs = Number.POSITIVE_INFINITY;
  }

  #start(periodMs: number): void {
    this.#stop();
    this.#periodMs = periodMs;
    this.#timer = setInterval(() => this.#tick(performance.now()), periodMs);
  }

  #tick(now: number): void {
    let isOld = false;
    for (const one of this.#living) {
      isOld ||= now - one.since >= CALL_MS;
      if (now < one.nextAt) continue;
      one.nextAt = now + one.everyMs;
      try {
        one.beat();
      } catch (error) {
        // The others need theirs; a lock that is not renewed now is renewed by whoever looks at it.
        console.error({ message: "heartbeat failed", reason: String(error) });
      }
    }
    if (!isOld || now - this.#calledAt < CALL_MS) return;
    this.#calledAt = now;
    this.#call().catch((error: unknown) => console.warn({ message: "keep-alive failed", reason: String(error) }));
  }
}
