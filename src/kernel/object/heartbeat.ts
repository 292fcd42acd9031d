// Renews the locks of running attempts well before they end, and keeps the object in memory.
//
// The platform keeps an object in memory while a call is pending. Local workerd drops an object that got no request for 70 to
// 140 seconds, and loses the call and its answer (measured). So an object calls itself while an attempt runs longer than CALL_MS.

import type { ObjectTimers } from "./timers.ts";

/** Well below the time after which local workerd drops an object. */
const CALL_MS = 25_000;

export class AttemptHeartbeat {
  readonly #timers: ObjectTimers;
  readonly #call: () => Promise<unknown>;
  #calledAt = Number.NEGATIVE_INFINITY;

  /** `call` makes a request to the object. */
  constructor(timers: ObjectTimers, call: () => Promise<unknown>) {
    this.#timers = timers;
    this.#call = call;
  }

  /** Calls `beat` every `everyMs`, until the returned function is called. */
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
        // Logged, so that other attempts still get their beat. The next step of the record renews a lock that was missed.
        console.error({ message: "heartbeat failed", reason: String(error) });
      }
    });
    return () => due.cancel();
  }

  /** One call keeps the object in memory for all its attempts. */
  #callOnce(now: number): void {
    if (now - this.#calledAt < CALL_MS) return;
    this.#calledAt = now;
    this.#call().catch((error: unknown) => console.warn({ message: "keep-alive failed", reason: String(error) }));
  }
}
