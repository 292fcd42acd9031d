// The attempts that this instance runs right now, each with those who wait for it.

import type { EpochMs, RecordId } from "../core/units.ts";
import type { Attempt } from "./attempt.ts";
import type { RequestBody } from "./body/request-body.ts";
import { type AnswerFor, Waiters } from "./waiters.ts";

export interface AttemptInFlight {
  readonly attempt: Attempt;
  /** Of its request. */
  readonly body: RequestBody;
  readonly waiters: Waiters;
}

/** An object's connections that may wait for response headers; further calls are queued (platform limit). */
const CALLS_AT_ONCE = 6;

export class AttemptsInFlight {
  readonly #all = new Map<RecordId, AttemptInFlight>();
  /** Those that have ended in doubt, and whose answer is still on its way to their clients. */
  readonly #inDoubt = new Map<RecordId, Attempt>();
  #crowded = 0;

  get count(): number {
    return this.#all.size;
  }

  /** How many have begun while as many others lived as the platform lets call at once: their calls may have waited. */
  get crowded(): number {
    return this.#crowded;
  }

  get(id: RecordId): AttemptInFlight | undefined {
    return this.#all.get(id);
  }

  add(id: RecordId, attempt: Attempt, body: RequestBody): AttemptInFlight {
    if (this.#all.size >= CALLS_AT_ONCE) this.#crowded += 1;
    const living = { attempt, body, waiters: new Waiters() };
    this.#all.set(id, living);
    return living;
  }

  /**
   * Cuts off an attempt in doubt that still talks with the origin after its lock has ended: from then on another one may
   * start, or the origin be asked whether it took effect (G1, G6). To be called before either can happen, since timers come late.
   */
  cutOff(id: RecordId, now: EpochMs): void {
    this.#all.get(id)?.attempt.cutOff(now);
    this.#inDoubt.get(id)?.cutOff(now);
  }

  /** Its word stands in the record: nobody needs to wait for it any more. What follows of its answer is for its readers alone. */
  settled(id: RecordId, { attempt, waiters }: AttemptInFlight, tell: AnswerFor | null): void {
    this.#remove(id, attempt);
    if (attempt.isInDoubt) this.#inDoubt.set(id, attempt);
    waiters.wake(tell);
  }

  /** It is over, its answer too. */
  remove(id: RecordId, { attempt, waiters }: AttemptInFlight): void {
    this.#remove(id, attempt);
    if (this.#inDoubt.get(id) === attempt) this.#inDoubt.delete(id);
    waiters.wake(null);
  }

  /** A record that expired under its attempt may have another one by now: that stays. */
  #remove(id: RecordId, attempt: Attempt): void {
    if (this.#all.get(id)?.attempt === attempt) this.#all.delete(id);
  }
}
