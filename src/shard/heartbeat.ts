// What living attempts need again and again: their locks renewed well before they end, and the object kept in memory.
//
// Kept in memory: the platform does so itself as long as a call is pending; local workerd drops an object that got no
// request for 70 to 140 seconds, and with it the call and its answer (measured). So an object with an attempt that is
// older than a request would be calls itself.

import type { Timers } from "./timers.ts";

/** Well below the time after which local workerd drops an object. */
const CALL_MS = 25_000;

export class Heartbeat {
  readonly #timers: Timers;
  readonly #call: () => Promise<unknown>;
  #calledAt = Number.NEGATIVE_INFINITY;

  /** `call` makes some request to the object. */
  constructor(timers: Timers, call: () => Promise<unknown>) {
    this.#timers = timers;
    this.#call = call;
  }

  /** `beat` is called every `everyMs`, until what is given here is called. */
  begin(everyMs: number, beat: () => void): () => void {
    const since = performance.now();
    let beatAt = since + everyMs;
    const due = this.#timers.set(Math.min(everyMs, CALL_MS), () => {
      const now = performance.now();
      const isBeat = now >= beatAt;
      if (isBeat) beatAt = now + everyMs;
      due.move(Math.min(beatAt - now, CALL_MS));
      if (now - since >= CALL_MS) this.#callOnce(now);
      if (!isBeat) return;
      try {
        beat();
      } catch (error) {
        // The others need theirs; a lock that is not renewed now is renewed by whoever looks at it.
        console.error({ message: "heartbeat failed", reason: String(error) });
      }
    });
    return () => due.cancel();
  }

  /** One call keeps the object for all attempts in it. */
  #callOnce(now: number): void {
    if (now - this.#calledAt < CALL_MS) return;
    this.#calledAt = now;
    this.#call().catch((error: unknown) => console.warn({ message: "keep-alive failed", reason: String(error) }));
  }
}
