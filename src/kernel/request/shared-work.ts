// Work outside the isolate that several requests need at once, such as a question about one credential: the first of them begins it, and
// the others wait for its result. The runtime may stop the first one's work when its client disconnects, and a promise of it then
// never settles. So the work is handed to `waitUntil`, and nobody waits for longer than a limit.

import { firstOf } from "./first-of.ts";

/** Keeps a request's work alive after its answer. */
export type WaitUntil = (work: Promise<unknown>) => void;

interface Running<T> {
  readonly result: Promise<T>;
  /** When it certainly has been stopped, if it has not ended. */
  readonly endsAt: number;
}

export class SharedWork<T> {
  readonly #waitUntil: WaitUntil;
  readonly #mostMs: number;
  /** In the order in which they were begun, and so in that of their ends. */
  readonly #running = new Map<string, Running<T>>();

  constructor(waitUntil: WaitUntil, mostMs: number) {
    this.#waitUntil = waitUntil;
    this.#mostMs = mostMs;
  }

  isRunning(name: string): boolean {
    const running = this.#running.get(name);
    return running !== undefined && running.endsAt > Date.now();
  }

  /** The result of the work of this name, which `begin` starts unless it runs already. `null` when it takes too long or fails. */
  async join(name: string, begin: () => Promise<T>): Promise<T | null> {
    const now = Date.now();
    const running = this.#running.get(name);
    const { result, endsAt } = running !== undefined && running.endsAt > now ? running : this.#begin(name, begin, now);
    return firstOf(result, endsAt - now).catch(() => null);
  }

  #begin(name: string, begin: () => Promise<T>, now: number): Running<T> {
    for (const [other, { endsAt }] of this.#running) {
      if (endsAt > now) break;
      this.#running.delete(other);
    }
    const running = { result: begin(), endsAt: now + this.#mostMs };
    this.#running.delete(name);
    this.#running.set(name, running);
    const end = (): void => {
      if (this.#running.get(name) === running) this.#running.delete(name);
    };
    this.#waitUntil(running.result.then(end, end));
    return running;
  }
}
