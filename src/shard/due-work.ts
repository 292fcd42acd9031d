// What the alarm does: it erases what has expired, ends locks, begins to ask about lost attempts, and sets itself again. All
// of it happens in one short turn: a slice of each task, and at once the next alarm while there is more. It waits for nothing
// and never fails, since the platform drops an alarm that fails too often.

import { epochMs, type EpochMs } from "../core/units.ts";
import type { Alarm } from "./alarm.ts";
import type { Exchanges } from "./exchanges.ts";
import type { Ledger } from "./store/ledger.ts";

/** Records erased in one turn: few enough that no request waits long behind it (measured: test/bench/README.md). */
const ERASE_SLICE = 500;

/** How long the alarm waits after its work failed. */
const ALARM_RETRY_MS = 5000;

export interface DueWorkPorts {
  readonly exchanges: Pick<Exchanges, "meetDeadlines">;
  readonly ledger: Ledger;
  readonly alarm: Alarm;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** `firedFor` is the time for which the alarm was set that runs now. */
export function doDueWork(
  { exchanges, ledger, alarm, waitUntil }: DueWorkPorts,
  now: EpochMs,
  firedFor: EpochMs,
): void {
  try {
    ledger.bodies.eraseSome();
    ledger.erase(now, ERASE_SLICE);
    waitUntil(ledger.remote.eraseOne().catch(logFailure));
    exchanges.meetDeadlines(now);
    alarm.rearm(firedFor);
  } catch (error) {
    logFailure(error);
    alarm.retryAt(epochMs(now + ALARM_RETRY_MS), firedFor);
  }
}

function logFailure(error: unknown): void {
  console.error({ message: "alarm failed", reason: String(error) });
}
