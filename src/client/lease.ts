// Keeps a claim while its handler works, and until the gateway has heard how it ended: extends the lock at half its time, and tells the
// handler to stop while there is time left.
//
//   claimed                extended at ½           aborted, unless extended: at ⅘              the lock ends     its end is said until
//     ├───────────────────────┼──────────────────────────────┼───────────────────────────────────┼───────────────────────────┤

import { type ClaimCallAnswer, type ClaimCalls, callClaims, endClaim } from "./claim-calls.ts";
import { SupersededError } from "./claim-errors.ts";

/** The part of the lock that is left when the handler's signal aborts. */
const MARGIN = 0.2;

/** After an extension that failed, another is tried after this part of the lock. */
const AGAIN = 0.1;

/**
 * After the lock has ended, an attempt's end is said for as long again, and for this long at least: a gateway that was away takes it as
 * long as no other attempt has begun.
 */
const MIN_BEYOND_MS = 30_000;

/** What names the attempt in every call. */
export interface ClaimName {
  readonly key: string;
  readonly attemptId: string;
}

export class ClaimLease {
  readonly #calls: ClaimCalls;
  readonly #name: ClaimName;
  readonly #controller = new AbortController();
  #stopTimers: readonly (() => void)[] = [];
  /** As far as this side knows. */
  #endsAt = 0;
  #lockMs = 0;
  #hasHandlerEnded = false;
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

  /**
   * To be called when the handler has ended: says so, again and again, while the lock goes on being extended, so that no other attempt
   * begins. Rejects when the lock has ended, and as much time again, or when the gateway refuses the entry.
   */
  async end(operation: "complete" | "release", entry: object): Promise<ClaimCallAnswer> {
    this.#hasHandlerEnded = true;
    const beyondMs = Math.max(this.#lockMs, MIN_BEYOND_MS);
    const until = Math.max(this.#endsAt, this.#calls.clock.now()) + beyondMs;
    return endClaim(this.#calls, operation, entry, until);
  }

  /** Nothing more is to be said. */
  close(): void {
    this.#isOver = true;
    this.#stop();
  }

  #stop(): void {
    for (const stop of this.#stopTimers) stop();
    this.#stopTimers = [];
  }

  #hold(sentAt: number, lockedForMs: number): void {
    this.#stop();
    this.#endsAt = sentAt + lockedForMs;
    this.#lockMs = lockedForMs;
    const { clock } = this.#calls;
    const passedMs = clock.now() - sentAt;
    const at = (part: number): number => Math.max(0, part * lockedForMs - passedMs);
    this.#stopTimers = [
      clock.after(at(0.5), () => void this.#extend(lockedForMs)),
      clock.after(at(1 - MARGIN), () => this.#warn()),
    ];
  }

  /** Never rejects. */
  async #extend(lockedForMs: number): Promise<void> {
    const { clock } = this.#calls;
    const sentAt = clock.now();
    const answer = await callClaims({ ...this.#calls, tries: 1 }, "extend", this.#name).catch(() => null);
    if (this.#isOver || this.signal.aborted) return;
    if (answer?.state === "granted") this.#hold(sentAt, lockOf(answer));
    else if (answer?.state === "superseded") this.#abort();
    else {
      // The margin's timer goes on.
      const again = clock.after(AGAIN * lockedForMs, () => void this.#extend(lockedForMs));
      this.#stopTimers = [...this.#stopTimers, again];
    }
  }

  /** The lock is about to end. Only a handler can stop; an end that is being said goes on, and so do the extensions. */
  #warn(): void {
    if (!this.#hasHandlerEnded) this.#abort();
  }

  /** No later extension helps: the handler's signal aborts, or the lock is lost. */
  #abort(): void {
    this.#stop();
    if (!this.#hasHandlerEnded) this.#controller.abort(new SupersededError(this.#name.key));
  }
}

export function lockOf({ lockedForMs = 0 }: ClaimCallAnswer): number {
  return lockedForMs;
}
