// The one alarm of a shard. It always stands at or before the earliest deadline in the ledger, and moves only when a
// sooner one comes: an alarm that fires for nothing costs less than a row written for each request.

import { epochMs, type EpochMs } from "../core/units.ts";

/** An alarm that has not come after so long, longer than its work ever takes, will not come. */
const OVERDUE_MS = 120_000;

/** What the alarm needs of an object's storage. */
export interface AlarmStorage {
  setAlarm(time: number): Promise<void>;
}

export class Alarm {
  readonly #storage: AlarmStorage;
  readonly #nextDeadline: () => EpochMs | null;
  /** Where the alarm stands; `null` as long as this instance has not set it. */
  #at: EpochMs | null = null;

  constructor(storage: AlarmStorage, nextDeadline: () => EpochMs | null) {
    this.#storage = storage;
    this.#nextDeadline = nextDeadline;
  }

  /**
   * Makes sure that the alarm comes no later than `deadline`. Never throws: what was written before must not be taken for
   * unwritten. An alarm that could not be set is set with the next deadline, and requests do not wait for it.
   */
  moveTo(deadline: EpochMs): void {
    try {
      this.#moveTo(deadline);
    } catch (error) {
      this.#at = null;
      console.error({ message: "alarm could not be set", reason: String(error) });
    }
  }

  #moveTo(deadline: EpochMs): void {
    const isSet = this.#at !== null && this.#at > Date.now() - OVERDUE_MS;
    if (isSet && this.#at !== null && this.#at <= deadline) return;
    // An instance that has just begun does not know where the alarm stands, or whether it was dropped after it had
    // failed too often (platform rule), so it is set from what the ledger says; likewise one whose alarm is overdue.
    this.#set(isSet ? deadline : earlier(deadline, this.#nextDeadline()));
  }

  /** Sets the alarm anew after that for `firedFor` has come; there is none when nothing has a deadline. */
  rearm(firedFor: EpochMs): void {
    const next = this.#nextDeadline();
    if (next === null) this.#at = null;
    else this.retryAt(next, firedFor);
  }

  /**
   * Sets the alarm after that for `firedFor` has come. Never for a time that has passed, nor for `firedFor` (the clock may have
   * gone back since): the runtime drops what is set within the handler for no later time than the alarm that runs, and
   * none would ever come again.
   */
  retryAt(at: EpochMs, firedFor: EpochMs): void {
    this.#set(epochMs(Math.max(at, Date.now() + 1, firedFor + 1)));
  }

  #set(at: EpochMs): void {
    this.#at = at;
    // A time of 0 or less, for what is due at once, is refused by the platform (measured).
    const time = Math.max(at, 1);
    // Not awaited: it belongs to the same commit as the writes of this turn, and a write that fails resets the object.
    void this.#storage.setAlarm(time);
  }
}

function earlier(one: EpochMs, other: EpochMs | null): EpochMs {
  return other === null ? one : epochMs(Math.min(one, other));
}
