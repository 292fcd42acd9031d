// The alarm's work: erases expired records, ends locks, begins questions about lost attempts, and sets the next alarm. It does a
// slice of each task in one short turn; while there is more, the next alarm comes at once. It waits for nothing and never fails,
// because the platform drops an alarm that fails too often. A task that fails keeps no other from its turn.

import { epochMs, type EpochMs } from "../record/units.ts";
import type { Alarm } from "./alarm.ts";
import type { Exchanges } from "./exchanges.ts";
import { ERASE_ROWS } from "../store/bodies.ts";
import type { Ledger } from "../store/ledger.ts";

/** The pause after the alarm's work has failed. */
const ALARM_RETRY_MS = 5000;

export interface DueWorkPorts {
  readonly exchanges: Pick<Exchanges, "dueTasks">;
  readonly ledger: Ledger;
  readonly alarm: Alarm;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** `firedFor` is the time for which the running alarm was set. */
export function doDueWork(
  { exchanges, ledger, alarm, waitUntil }: DueWorkPorts,
  now: EpochMs,
  firedFor: EpochMs,
): void {
  const tasks = [
    () => ledger.bodies.eraseSome(),
    () => ledger.excerpts.eraseSome(now, ERASE_ROWS),
    () => waitUntil(ledger.remote.eraseOne().catch(logFailure)),
    ...exchanges.dueTasks(now),
  ];
  const failed = tasks.filter((task) => !succeeds(task));
  // What a failed task has left is still due: the alarm would come again at once, and without end.
  if (failed.length > 0 || !succeeds(() => alarm.rearm(firedFor))) {
    alarm.retryAt(epochMs(now + ALARM_RETRY_MS), firedFor);
  }
}

function succeeds(task: () => unknown): boolean {
  try {
    task();
    return true;
  } catch (error) {
    logFailure(error);
    return false;
  }
}

function logFailure(error: unknown): void {
  console.error({ message: "alarm failed", reason: String(error) });
}
