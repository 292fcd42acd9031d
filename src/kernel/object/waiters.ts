// Requests that wait for another request's attempt, or for the answer to a verification. A waiter costs one entry in a list: no
// timer of the runtime, and no reaction on a promise that outlives it. A wait ends at its time limit or when the client
// disconnects. The number of waiters is bounded, so that requests with one key cannot take memory from all others. When all places are
// taken, the caller who has most of them gives one up to a caller who has fewer.

import type { RecordId } from "../record/units.ts";
import { type ExchangeHead, logNames } from "../request/message.ts";
import type { AnswerFor } from "./answers.ts";
import type { ExchangeAnswer } from "./exchange-answer.ts";
import type { ObjectTimers } from "./timers.ts";

/** Waiters for one record: a client that has lost an answer sends one or two retries, not a hundred. */
export const MAX_PER_RECORD = 100;

/**
 * Waiters in one object. Each holds its request's head and the connection to its Worker, about 20 KiB, so together at most 20 MB
 * of the isolate's 128 MB.
 */
export const MAX_PER_SHARD = 1000;

export type WokenWaiter =
  /** Something has changed: the waiter re-checks the record. */
  | { readonly kind: "recheck" }
  /** The attempt's answer is also this waiter's. */
  | { readonly kind: "answered"; readonly answer: ExchangeAnswer }
  | { readonly kind: "time-up" }
  /** The client has disconnected, so nothing is started for it. */
  | { readonly kind: "left" }
  /** All places are taken. */
  | { readonly kind: "full" };

export interface ExchangeWait {
  readonly recordId: RecordId;
  /** Whose share of the places it takes (kernel/record/lanes.ts). */
  readonly lane: number;
  /** For an answer that is shared; `null`: the waiter always re-checks the record. */
  readonly head: ExchangeHead | null;
  /** Whether the wait ends when the answer begins, so that the request can follow it. */
  readonly untilBegun: boolean;
  /** The longest wait; Infinity when the awaited work has a time limit of its own. */
  readonly ms: number;
  /** Aborts when the client disconnects; `null` when that cannot be known. */
  readonly caller: AbortSignal | null;
  /** Whether the waiter takes one of the places. */
  readonly isCounted: boolean;
}

interface Waiter {
  readonly head: ExchangeHead | null;
  readonly untilBegun: boolean;
  readonly end: (woken: WokenWaiter) => void;
}

/** The waiters for one attempt. */
export class AttemptWaiters {
  readonly #all = new Set<Waiter>();

  add(waiter: Waiter): void {
    this.#all.add(waiter);
  }

  remove(waiter: Waiter): void {
    this.#all.delete(waiter);
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Wakes all waiters: with an answer that they share, or to re-check the record. */
  wake(answerFor: AnswerFor | null): void {
    for (const { head, end } of this.#all)
      end(answerFor === null || head === null ? RECHECK : wokenWith(answerFor, head));
  }

  /** Wakes the waiters that follow the answer from its beginning. */
  wakeFollowers(): void {
    for (const { untilBegun, end } of this.#all) if (untilBegun) end(RECHECK);
  }
}

const RECHECK = { kind: "recheck" } as const;

/** Never throws: an answer that fails for one waiter must not keep the others waiting. */
function wokenWith(answerFor: AnswerFor, head: ExchangeHead): WokenWaiter {
  try {
    return { kind: "answered", answer: answerFor(head) };
  } catch (error) {
    console.error({ message: "an answer could not be shared", ...logNames(head), reason: String(error) });
    return RECHECK;
  }
}

/** The places for all waiters in one object. */
export class WaitingRoom {
  readonly #timers: ObjectTimers;
  readonly #ofRecord = new Map<RecordId, number>();
  /** Those who have a place, by lane, longest waiting first. */
  readonly #ofLane = new Map<number, Set<Waiter>>();
  #count = 0;

  constructor(timers: ObjectTimers) {
    this.#timers = timers;
  }

  wait(
    waiters: AttemptWaiters,
    { recordId, lane, head, untilBegun, ms, caller, isCounted }: ExchangeWait,
  ): Promise<WokenWaiter> {
    if (caller?.aborted === true) return Promise.resolve({ kind: "left" });
    if (isCounted && !this.#hasPlace(recordId, lane)) return Promise.resolve({ kind: "full" });
    const { promise, resolve } = Promise.withResolvers<WokenWaiter>();
    const left = (): void => end({ kind: "left" });
    const due = this.#timers.set(ms, () => end({ kind: "time-up" }));
    const end = (woken: WokenWaiter): void => {
      waiters.remove(waiter);
      due.cancel();
      caller?.removeEventListener("abort", left);
      if (isCounted) this.#leave(recordId, lane, waiter);
      resolve(woken);
    };
    const waiter = { head, untilBegun, end };
    waiters.add(waiter);
    if (isCounted) this.#enter(recordId, lane, waiter);
    caller?.addEventListener("abort", left);
    return promise;
  }

  /**
   * Begins some work and waits for its end. Begins nothing if there is no place to wait, or the client has left. The work runs
   * on if the client leaves later. Rejects if the work rejects.
   */
  async until(begin: () => Promise<void>, wait: ExchangeWait): Promise<WokenWaiter> {
    const waiters = new AttemptWaiters();
    const waiting = this.wait(waiters, wait);
    if (waiters.isEmpty) return waiting;
    const running = (async () => begin())();
    const wake = (): void => waiters.wake(null);
    running.then(wake, wake);
    const woken = await waiting;
    if (woken.kind === "recheck") await running;
    return woken;
  }

  /** Makes room if all places are taken and another caller has more of them. */
  #hasPlace(id: RecordId, lane: number): boolean {
    if ((this.#ofRecord.get(id) ?? 0) >= MAX_PER_RECORD) return false;
    if (this.#count < MAX_PER_SHARD) return true;
    const own = this.#ofLane.get(lane)?.size ?? 0;
    const [most] = [...this.#ofLane.values()].toSorted((one, other) => other.size - one.size);
    if (most === undefined || most.size <= own + 1) return false;
    for (const { end } of most) {
      end({ kind: "full" });
      break;
    }
    return true;
  }

  #enter(id: RecordId, lane: number, waiter: Waiter): void {
    this.#count += 1;
    this.#ofRecord.set(id, (this.#ofRecord.get(id) ?? 0) + 1);
    const ofLane = this.#ofLane.get(lane);
    if (ofLane === undefined) this.#ofLane.set(lane, new Set([waiter]));
    else ofLane.add(waiter);
  }

  #leave(id: RecordId, lane: number, waiter: Waiter): void {
    this.#count -= 1;
    const ofRecord = (this.#ofRecord.get(id) ?? 1) - 1;
    if (ofRecord > 0) this.#ofRecord.set(id, ofRecord);
    else this.#ofRecord.delete(id);
    const ofLane = this.#ofLane.get(lane);
    ofLane?.delete(waiter);
    if (ofLane?.size === 0) this.#ofLane.delete(lane);
  }
}
