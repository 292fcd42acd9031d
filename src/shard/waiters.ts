// Requests that wait for somebody else's attempt, or for the answer to a question. One that waits costs an entry in a list:
// no timer of the runtime, no reaction on a promise that lives longer than it. It ends with its time, or with its client,
// whichever comes first; and there are only so many of them, so that no number of requests with one key takes anything from
// another.

import type { RecordId } from "../core/units.ts";
import type { ExchangeHead } from "../http/message.ts";
import type { ExchangeAnswer } from "./attempt-settlement.ts";
import type { Timers } from "./timers.ts";

/** What one of those who waited is told, as the answer to his own request. */
export type AnswerFor = (head: ExchangeHead) => ExchangeAnswer;

/** For one record: a client that has lost its way to an answer sends a retry or two, not a hundred at once. */
export const MOST_OF_RECORD = 100;

/**
 * In one object, whose memory is one isolate's: each holds its request's head and the connection to its Worker, some 20 KiB
 * in all, so 20 of 128 MB.
 */
export const MOST_OF_SHARD = 1000;

export type Woken =
  /** Something has changed: he looks again. */
  | { readonly kind: "look" }
  /** He shares the answer of the attempt that he waited for. */
  | { readonly kind: "told"; readonly told: ExchangeAnswer }
  | { readonly kind: "time-up" }
  /** His client has gone: nobody hears what he does next, and nothing is started for him. */
  | { readonly kind: "left" }
  /** As many wait already as may. */
  | { readonly kind: "full" };

export interface Wait {
  readonly head: ExchangeHead;
  /** Whether he only waits until the answer begins, to follow it. */
  readonly untilBegun: boolean;
  /** How long at most; Infinity where what he waits for has an end of its own. */
  readonly ms: number;
  /** Tells when his client has gone; `null` where that is not known. */
  readonly caller: AbortSignal | null;
  /** Whether he takes one of the places. */
  readonly isCounted: boolean;
}

interface Waiter {
  readonly head: ExchangeHead;
  readonly untilBegun: boolean;
  readonly end: (woken: Woken) => void;
}

/** Those who wait for one attempt. */
export class Waiters {
  readonly #all = new Set<Waiter>();

  add(waiter: Waiter): void {
    this.#all.add(waiter);
  }

  remove(waiter: Waiter): void {
    this.#all.delete(waiter);
  }

  /** Wakes all: with an answer that they share, or to look again. */
  wake(tell: AnswerFor | null): void {
    for (const { head, end } of this.#all) end(tell === null ? LOOK : wokenWith(tell, head));
  }

  /** Wakes those who wanted to follow the answer as soon as it begins. */
  wakeFollowers(): void {
    for (const { untilBegun, end } of this.#all) if (untilBegun) end(LOOK);
  }
}

const LOOK = { kind: "look" } as const;

/** One who cannot be told is no reason to leave the others asleep. */
function wokenWith(tell: AnswerFor, head: ExchangeHead): Woken {
  try {
    return { kind: "told", told: tell(head) };
  } catch (error) {
    console.error({ message: "an answer could not be shared", reason: String(error) });
    return LOOK;
  }
}

/** The places for those who wait in one object. */
export class WaitingRoom {
  readonly #timers: Timers;
  readonly #ofRecord = new Map<RecordId, number>();
  #count = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  wait(waiters: Waiters, { head, untilBegun, ms, caller, isCounted }: Wait): Promise<Woken> {
    const { id: recordId } = head.record;
    if (caller?.aborted === true) return Promise.resolve({ kind: "left" });
    if (isCounted && !this.#enter(recordId)) return Promise.resolve({ kind: "full" });
    const { promise, resolve } = Promise.withResolvers<Woken>();
    const left = (): void => end({ kind: "left" });
    const due = this.#timers.set(ms, () => end({ kind: "time-up" }));
    const end = (woken: Woken): void => {
      waiters.remove(waiter);
      due.cancel();
      caller?.removeEventListener("abort", left);
      if (isCounted) this.#leave(recordId);
      resolve(woken);
    };
    const waiter = { head, untilBegun, end };
    waiters.add(waiter);
    caller?.addEventListener("abort", left);
    return promise;
  }

  /** Waits for what runs anyway. Rejects as that does. */
  async until(running: Promise<void>, wait: Wait): Promise<Woken> {
    const waiters = new Waiters();
    const wake = (): void => waiters.wake(null);
    running.then(wake, wake);
    const woken = await this.wait(waiters, wait);
    if (woken.kind === "look") await running;
    return woken;
  }

  #enter(id: RecordId): boolean {
    const ofRecord = this.#ofRecord.get(id) ?? 0;
    if (this.#count >= MOST_OF_SHARD || ofRecord >= MOST_OF_RECORD) return false;
    this.#count += 1;
    this.#ofRecord.set(id, ofRecord + 1);
    return true;
  }

  #leave(id: RecordId): void {
    this.#count -= 1;
    const ofRecord = (this.#ofRecord.get(id) ?? 1) - 1;
    if (ofRecord > 0) this.#ofRecord.set(id, ofRecord);
    else this.#ofRecord.delete(id);
  }
}
