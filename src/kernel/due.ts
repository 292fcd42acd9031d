// What an object does by itself, at its alarm. All of it stands in one list (Exchanges.dues), in the order of work; the alarm is set for whatever
// of the list is due first.

import type { ObjectAlarm } from "./object/alarm.ts";
import { earliestTime, epochMs, type EpochMs } from "./record/units.ts";

export interface Due {
  /** For the log. */
  readonly name: string;
  /** When it has work next; `null`: never. */
  readonly nextAt: (now: EpochMs) => EpochMs | null;
  /** Does a slice of what is due, in this turn, and waits for nothing. What is left is still due. */
  readonly run: (now: EpochMs) => void;
}

/** When the first of these has work; `null`: none ever has. */
export function nextDue(dues: readonly Due[], now: EpochMs): EpochMs | null {
  const times = dues.map((due) => due.nextAt(now)).filter((at) => at !== null);
  return times.length === 0 ? null : times.reduce((one, other) => earliestTime(one, other));
}

/** The pause after the alarm's work has failed. */
const ALARM_RETRY_MS = 5000;

/**
 * The alarm's work: a slice of everything that is due, in one short turn, and the next alarm; while there is more, it comes at once. It waits for
 * nothing and never fails, because the platform drops an alarm that fails too often. What fails keeps nothing else from its turn. `firedFor` is the time for which the running
 * alarm was set.
 */
export function doDueWork(dues: readonly Due[], alarm: ObjectAlarm, now: EpochMs, firedFor: EpochMs): void {
  const failed = dues.filter(({ name, run }) => !succeeds(name, () => run(now)));
  // What a failed task has left is still due: the alarm would come again at once, and without end.
  if (failed.length > 0 || !succeeds("setting the alarm", () => alarm.rearm(firedFor))) {
    alarm.retryAt(epochMs(now + ALARM_RETRY_MS), firedFor);
  }
}

function succeeds(name: string, task: () => void): boolean {
  try {
    task();
    return true;
  } catch (error) {
    console.error({ message: "alarm failed", task: name, reason: String(error) });
    return false;
  }
}
