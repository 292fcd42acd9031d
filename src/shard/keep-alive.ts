// Keeps the object in memory as long as an attempt lives. The platform does so itself as long as a call is pending; local
// workerd drops an object that got no request for 70 to 140 seconds, and with it the call and its answer (measured). So
// the object calls itself while it has an attempt that is older than a request would be.

/** Well below the time after which local workerd drops an object. */
const PERIOD_MS = 25_000;

export class KeepAlive {
  readonly #call: () => Promise<unknown>;
  readonly #living = new Set<ReturnType<typeof setInterval>>();

  /** `call` makes some request to the object. */
  constructor(call: () => Promise<unknown>) {
    this.#call = call;
  }

  /** To be called when an attempt begins; gives what is to be called when it has ended. */
  begin(): () => void {
    const timer = setInterval(() => {
      // One call serves them all.
      if (this.#living.values().next().value !== timer) return;
      this.#call().catch((error: unknown) => console.warn({ message: "keep-alive failed", reason: String(error) }));
    }, PERIOD_MS);
    this.#living.add(timer);
    return () => {
      clearInterval(timer);
      this.#living.delete(timer);
    };
  }
}
