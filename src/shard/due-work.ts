// What the alarm does: it ends locks, asks about lost attempts, erases what nobody needs, and sets itself anew. It never
// fails, since the platform drops an alarm that does.

import { epochMs, type EpochMs } from "../core/units.ts";
import type { Alarm } from "./alarm.ts";
import type { Exchanges } from "./exchange.ts";
import type { Ledger } from "./ledger.ts";
import type { Timers } from "./timers.ts";

/** Records erased in one turn: few enough that no request waits long behind it (README, measured numbers). */
const ERASE_SLICE = 500;

/** How long the alarm waits for the bucket. */
const REMOTE_PATIENCE_MS = 10_000;

/** How long the alarm waits after its work failed. */
const ALARM_RETRY_MS = 5000;

export interface DueWorkPorts {
  readonly exchanges: Pick<Exchanges, "meetDeadlines">;
  readonly ledger: Ledger;
  readonly alarm: Alarm;
  readonly timers: Timers;
}

/** `firedFor` is the time for which the alarm was set that runs now. */
export async function doDueWork(
  { exchanges, ledger, alarm, timers }: DueWorkPorts,
  now: EpochMs,
  firedFor: EpochMs,
): Promise<void> {
  try {
    ledger.bodies.eraseSome();
    ledger.erase(now, ERASE_SLICE);
    // What waits for others comes last, and no longer than anybody may wait.
    await Promise.all([exchanges.meetDeadlines(now), timers.firstOf(ledger.remote.eraseOne(), REMOTE_PATIENCE_MS)]);
    alarm.rearm(firedFor);
  } catch (error) {
    console.error({ message: "alarm failed", reason: String(error) });
    alarm.retryAt(epochMs(now + ALARM_RETRY_MS), firedFor);
  }
}
