// The one alarm of a shard. It always stands at or before the earliest deadline in the ledger, and moves only when a
// sooner one comes: an alarm that fires for nothing costs less than a row written for each request.

import { type EpochMs, epochMs } from "../core/units.ts";

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
    if (isSet) this.#set(deadline);
    else this.#setFromLedger(deadline);
  }

  /** Never throws: what a request has written stands, whether or not the alarm can be set for it. */
  #setFromLedger(deadline: EpochMs): void {
    try {
      this.#set(earlier(deadline, this.#nextDeadline()));
    } catch (error) {
      this.#set(deadline);
      this.#failed(error);
    }
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
    try {
      // Not awaited: it belongs to the same commit as the writes of this turn, and a write that fails resets the object.
      this.#storage.setAlarm(time).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The next deadline that is told finds the alarm unset, and sets it from the ledger. */
  #failed(error: unknown): void {
    this.#at = null;
    console.error({ message: "the alarm could not be set", reason: String(error) });
  }
}

function earlier(one: EpochMs, other: EpochMs | null): EpochMs {
  return other === null ? one : epochMs(Math.min(one, other));
}

/** How late alarms come after the time for which they were set: what tells that deadlines are met late. */
export interface AlarmNumbers {
  readonly count: number;
  /** Of the last one, and of the latest that this instance has seen. */
  readonly lagMs: number;
  readonly maxLagMs: number;
}

export class AlarmLag {
  #count = 0;
  #lagMs = 0;
  #maxLagMs = 0;

  record(lagMs: number): void {
    this.#count += 1;
    this.#lagMs = Math.max(0, lagMs);
    this.#maxLagMs = Math.max(this.#maxLagMs, lagMs);
  }

  get numbers(): AlarmNumbers {
    return { count: this.#count, lagMs: this.#lagMs, maxLagMs: this.#maxLagMs };
  }
}
