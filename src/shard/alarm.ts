// The one alarm of a shard. It always stands at or before the earliest deadline in the ledger, and moves only when a
// sooner one comes: an alarm that fires for nothing costs less than a row written for each request.

import { epochMs, type EpochMs } from "../core/units.ts";

export class Alarm {
  readonly #storage: DurableObjectStorage;
  readonly #nextDeadline: () => EpochMs | null;
  /** Where the alarm stands; `null` as long as this instance has not set it. */
  #at: EpochMs | null = null;

  constructor(storage: DurableObjectStorage, nextDeadline: () => EpochMs | null) {
    this.#storage = storage;
    this.#nextDeadline = nextDeadline;
  }

  /** Makes sure that the alarm comes no later than `deadline`. */
  moveTo(deadline: EpochMs): void {
    if (this.#at !== null && this.#at <= deadline) return;
    // An instance that has just begun does not know where the alarm stands, or whether it was dropped after it had
    // failed too often (platform rule), so it is set from what the ledger says.
    this.#set(this.#at === null ? earlier(deadline, this.#nextDeadline()) : deadline);
  }

  /** Sets the alarm anew after it has fired; there is none when nothing has a deadline. */
  rearm(): void {
    this.#at = null;
    const next = this.#nextDeadline();
    // Not at a time that has passed: the runtime drops an alarm that is set within its own handler for no later time than
    // the one that runs, and none would ever come again.
    if (next !== null) this.#set(epochMs(Math.max(next, Date.now() + 1)));
  }

  /** Sets the alarm for a second try after its work failed; the platform itself would give up after six. */
  retryAt(at: EpochMs): void {
    this.#set(at);
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
