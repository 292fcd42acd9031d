// Work of a shard that goes on by itself: attempts of accepted requests, verifications, events. A few pieces of each kind run
// at a time; each that ends begins the next, and the alarm comes for what is not due yet.

import { durationMs, epochMs, type EpochMs, timeAfter } from "../record/units.ts";
import type { ObjectAlarm } from "./alarm.ts";

/** The pause after the store has failed, or a record could not be read. */
export const PAUSE_MS = durationMs(5000);

export interface OngoingWork {
  /** Begins what is due, as much as may run at a time. */
  readonly begin: (now: EpochMs) => void;
  /** When the alarm has to come for the rest; `null` when nothing is left. */
  readonly nextAt: (now: EpochMs) => EpochMs | null;
  /** The store failed: nothing more before this time. */
  readonly pause: (until: EpochMs) => void;
  readonly alarm: Pick<ObjectAlarm, "moveTo">;
  /** What is logged when the store fails. */
  readonly failure: string;
}

/** A piece of work has ended: the next one begins. */
export function takeNextTurn({ begin, nextAt, pause, alarm, failure }: OngoingWork): void {
  try {
    const now = epochMs(Date.now());
    begin(now);
    const next = nextAt(now);
    if (next !== null) alarm.moveTo(next);
  } catch (error) {
    console.error({ message: failure, reason: String(error) });
    const until = timeAfter(epochMs(Date.now()), PAUSE_MS);
    pause(until);
    alarm.moveTo(until);
  }
}
