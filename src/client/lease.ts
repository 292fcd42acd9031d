// Keeps a claim while its handler works: extends the lock at half its time, and tells the handler to stop while there is time left.
//
//   claimed                extended at ½           told to stop, unless extended: at ⅘          the lock ends
//     ├───────────────────────┼──────────────────────────────┼───────────────────────────────────┤

import { type ClaimAnswer, type ClaimCalls, callClaims } from "./claim-calls.ts";
import { Superseded } from "./claim-errors.ts";

/** The part of the lock that is left when the handler is told to stop. */
const MARGIN = 0.2;

/** After an extension that failed, another is tried after this part of the lock. */
const AGAIN = 0.1;

/** What names the attempt in every call. */
export interface ClaimName {
  readonly key: string;
  readonly attemptId: string;
}

export class Lease {
  readonly #calls: ClaimCalls;
  readonly #name: ClaimName;
  readonly #controller = new AbortController();
  #stopTimers: readonly (() => void)[] = [];
  #isOver = false;

  /** `sentAt`: when the claim was sent, since its lock may have begun then. */
  constructor(calls: ClaimCalls, name: ClaimName, sentAt: number, lockedForMs: number) {
    this.#calls = calls;
    this.#name = name;
    this.#hold(sentAt, lockedForMs);
  }

  /** Aborts when the handler should stop: its lock is about to end, or is lost. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** To be called when the handler has ended. */
  end(): void {
    this.#isOver = true;
    this.#stop();
  }

  #stop(): void {
    for (const stop of this.#stopTimers) stop();
    this.#stopTimers = [];
  }

  #hold(sentAt: number, lockedForMs: number): void {
    this.#stop();
    const { clock } = this.#calls;
    const passedMs = clock.now() - sentAt;
    const at = (part: number): number => Math.max(0, part * lockedForMs - passedMs);
    this.#stopTimers = [
      clock.after(at(0.5), () => void this.#extend(lockedForMs)),
      clock.after(at(1 - MARGIN), () => this.#abort(new Superseded(this.#name.key))),
    ];
  }

  /** Never rejects. */
  async #extend(lockedForMs: number): Promise<void> {
    const { clock } = this.#calls;
    const sentAt = clock.now();
    const answer = await callClaims({ ...this.#calls, tries: 1 }, "extend", this.#name).catch(() => null);
    if (this.#isOver || this.signal.aborted) return;
    if (answer?.state === "granted") this.#hold(sentAt, lockOf(answer));
    else if (answer?.state === "superseded") this.#abort(new Superseded(this.#name.key));
    else {
      // The margin's timer goes on.
      const again = clock.after(AGAIN * lockedForMs, () => void this.#extend(lockedForMs));
      this.#stopTimers = [...this.#stopTimers, again];
    }
  }

  #abort(reason: Superseded): void {
    this.#stop();
    this.#controller.abort(reason);
  }
}

export function lockOf({ lockedForMs = 0 }: ClaimAnswer): number {
  return lockedForMs;
}
