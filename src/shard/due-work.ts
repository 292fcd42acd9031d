// What the alarm does: it erases what nobody needs, ends locks, begins to ask about lost attempts, and sets itself anew. All of
// it in one short turn: it does a slice of each and comes again at once while there is more, and waits for nobody. It never
// fails, since the platform drops an alarm that does.

import { epochMs, type EpochMs } from "../core/units.ts";
import type { Alarm } from "./alarm.ts";
import type { Exchanges } from "./exchange.ts";
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
