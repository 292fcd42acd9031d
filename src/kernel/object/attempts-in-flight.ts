// The attempts that this instance is running, each with its waiters.

import type { EpochMs, RecordId } from "../record/units.ts";
import type { AnswerFor } from "./answers.ts";
import type { OriginAttempt } from "./attempt.ts";
import type { RequestBody } from "../body/request-body.ts";
import { AttemptWaiters } from "./waiters.ts";

export interface AttemptInFlight {
  readonly attempt: OriginAttempt;
  /** The body of its request. */
  readonly body: RequestBody;
  readonly waiters: AttemptWaiters;
}

/** How many of an object's connections may wait for response headers; further calls are queued (platform limit). */
const CALLS_AT_ONCE = 6;

export class AttemptsInFlight {
  readonly #all = new Map<RecordId, AttemptInFlight>();
  /** Attempts with an unknown outcome whose answer is still being passed on. */
  readonly #ambiguous = new Map<RecordId, OriginAttempt>();

  get count(): number {
    return this.#all.size;
  }

  /** How many attempts of accepted requests run. */
  get accepted(): number {
    return [...this.#all.values()].filter(({ attempt }) => attempt.isAccepted).length;
  }

  /** Whether all connections are in use, so that the call of an attempt that begins now may wait. */
  get isCrowded(): boolean {
    return this.#all.size >= CALLS_AT_ONCE;
  }

  get(id: RecordId): AttemptInFlight | undefined {
    return this.#all.get(id);
  }

  add(id: RecordId, attempt: OriginAttempt, body: RequestBody): AttemptInFlight {
    const inFlight = { attempt, body, waiters: new AttemptWaiters() };
    this.#all.set(id, inFlight);
    return inFlight;
  }

  /**
   * Cuts off an ambiguous attempt that is still connected to the origin after its lock has ended. From then on another attempt may
   * start, or the origin may be asked whether it took effect (G1, G6). Called before either can happen, because timers may fire
   * late.
   */
  cutOff(id: RecordId, now: EpochMs): void {
    this.#all.get(id)?.attempt.cutOff(now);
    this.#ambiguous.get(id)?.cutOff(now);
  }

  /** The same for all of them, before this object says which keys it still has: the records of ambiguous attempts may have expired. */
  cutOffAll(now: EpochMs): void {
    for (const attempt of this.#ambiguous.values()) attempt.cutOff(now);
  }

  /** The record has the attempt's verdict, so all waiters are woken. Only its current readers get the rest of its answer. */
  settled(id: RecordId, { attempt, waiters }: AttemptInFlight, answerFor: AnswerFor | null): void {
    this.#remove(id, attempt);
    if (attempt.isAmbiguous) this.#ambiguous.set(id, attempt);
    waiters.wake(answerFor);
  }

  /** The attempt is over, and its answer has been passed on. */
  remove(id: RecordId, { attempt, waiters }: AttemptInFlight): void {
    this.#remove(id, attempt);
    if (this.#ambiguous.get(id) === attempt) this.#ambiguous.delete(id);
    waiters.wake(null);
  }

  /** Removes only this attempt: if the record expired during it, there may be a newer one, which stays. */
  #remove(id: RecordId, attempt: OriginAttempt): void {
    if (this.#all.get(id)?.attempt === attempt) this.#all.delete(id);
  }
}
