// The one alarm of a shard. It is always set to the earliest deadline in the ledger or before, and moves only when an earlier
// deadline comes: an alarm that fires without work costs less than a row written for each request.

import { durationMs, type EpochMs, epochMs, isPauseOn, timeAfter, latestTime } from "../record/units.ts";

/** An alarm that is later than this will not come; its work never takes so long. */
const OVERDUE_MS = durationMs(120_000);

/** What the alarm needs of an object's storage. */
export interface AlarmStorage {
  setAlarm(time: number): Promise<void>;
  getAlarm(): Promise<number | null>;
}

export class ObjectAlarm {
  readonly #storage: AlarmStorage;
  readonly #nextDeadline: () => EpochMs | null;
  /** The time for which the alarm is set; `null` until this instance has set it. */
  #at: EpochMs | null = null;
  /** When this instance may ask again whether the alarm is set. */
  #asksAt = epochMs(0);
  /** The latest time that this instance has seen since it trusts the clock; `null`: not yet. */
  #seenAt: EpochMs | null = null;

  constructor(storage: AlarmStorage, nextDeadline: () => EpochMs | null) {
    this.#storage = storage;
    this.#nextDeadline = nextDeadline;
  }

  /**
   * Makes sure that the alarm comes no later than `deadline`. Never throws, because an error here would look as if the caller's
   * write had failed. An alarm that could not be set is set with the next deadline, and requests do not wait for it.
   */
  moveTo(deadline: EpochMs): void {
    this.#see();
    const at = this.#at;
    if (at === null || this.#mayBeDropped) this.#setFromLedger(deadline);
    else if (deadline < at) this.#set(deadline);
  }

  /**
   * A new instance does not know when the alarm is set, or whether the platform dropped it after too many failures (platform rule).
   * Nor does an instance whose alarm is overdue.
   */
  get #mayBeDropped(): boolean {
    return this.#at === null || this.#at <= Date.now() - OVERDUE_MS;
  }

  /** Whether to call `restore` after a request, which may have written nothing that sets the alarm. */
  get isUncertain(): boolean {
    const now = epochMs(Date.now());
    const hasGoneBack = this.#seenAt !== null && now < this.#seenAt;
    return hasGoneBack || ((this.#mayBeDropped || this.#seenAt === null) && !isPauseOn(this.#asksAt, OVERDUE_MS, now));
  }

  /** Whether work may have been put off by a clock that was ahead: it has gone back, or an earlier instance may have seen it do so. */
  isClockUncertain(now: EpochMs): boolean {
    return this.#seenAt === null || now < this.#seenAt;
  }

  #see(): void {
    if (this.#seenAt !== null) this.#seenAt = latestTime(this.#seenAt, epochMs(Date.now()));
  }

  /** Whatever was put off so has been brought back. */
  trustClock(now: EpochMs): void {
    this.#seenAt = now;
  }

  /** Sets the alarm from the ledger if the platform has dropped it. Never throws. */
  async restore(): Promise<void> {
    this.#asksAt = timeAfter(epochMs(Date.now()), OVERDUE_MS);
    try {
      const setTo = await this.#storage.getAlarm();
      // Meanwhile it may have been set, or have come.
      if (!this.#mayBeDropped) return;
      if (setTo !== null) this.#at = epochMs(setTo);
      else {
        const next = this.#nextDeadline();
        if (next !== null) this.#set(next);
      }
    } catch (error) {
      console.error({ message: "the alarm could not be looked at", reason: String(error) });
    }
  }

  /** Never throws: a request's write stays valid even if the alarm cannot be set for it. */
  #setFromLedger(deadline: EpochMs): void {
    try {
      this.#set(earlier(deadline, this.#nextDeadline()));
    } catch (error) {
      this.#set(deadline);
      this.#failed(error);
    }
  }

  /** Sets the next alarm after the one for `firedFor` has come; sets none when nothing has a deadline. */
  rearm(firedFor: EpochMs): void {
    this.#see();
    const next = this.#nextDeadline();
    if (next === null) this.#at = null;
    else this.retryAt(next, firedFor);
  }

  /**
   * Sets the next alarm after the one for `firedFor` has come: never for a past time, nor for `firedFor` itself (the clock may have
   * gone back since). Within the handler, the runtime drops an alarm that is not set for a later time than the running one, and
   * then no alarm would ever come again.
   */
  retryAt(at: EpochMs, firedFor: EpochMs): void {
    this.#see();
    this.#set(epochMs(Math.max(at, Date.now() + 1, firedFor + 1)));
  }

  #set(at: EpochMs): void {
    this.#at = at;
    // The platform refuses a time of 0 or less (measured), which means "due at once" here.
    const time = Math.max(at, 1);
    try {
      // Not awaited: it belongs to the same commit as the writes of this turn, and a failed write resets the object.
      this.#storage.setAlarm(time).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Marks the alarm as unset, so that the next `moveTo` sets it from the ledger. */
  #failed(error: unknown): void {
    this.#at = null;
    console.error({ message: "the alarm could not be set", reason: String(error) });
  }
}

function earlier(one: EpochMs, other: EpochMs | null): EpochMs {
  return other === null ? one : epochMs(Math.min(one, other));
}
