// The alarm's work: a slice of everything that is due, in one short turn, and the next alarm; while there is more, it comes at once. It
// waits for nothing and never fails, because the platform drops an alarm that fails too often. What fails keeps nothing else from its turn.

import type { Due } from "../due.ts";
import { epochMs, type EpochMs } from "../record/units.ts";
import type { Alarm } from "./alarm.ts";

/** The pause after the alarm's work has failed. */
const ALARM_RETRY_MS = 5000;

/** `firedFor` is the time for which the running alarm was set. */
export function doDueWork(dues: readonly Due[], alarm: Alarm, now: EpochMs, firedFor: EpochMs): void {
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
