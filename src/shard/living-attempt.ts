// An attempt that this instance runs right now, and how those wait who came while it ran.

import type { ExchangeHead } from "../http/message.ts";
import { firstOf } from "../http/patience.ts";
import type { Attempt, Refusal } from "./attempt.ts";

export interface LivingAttempt {
  readonly attempt: Attempt;
  /** Resolves when the attempt's word stands in the record: with a refusal that those who waited share, else `null`. */
  readonly ended: Promise<Refusal | null>;
}

/**
 * Waits for the end of an attempt, or only for its beginning where the duplicate attaches to it. Those who wait share a
 * refusal: one after the other, they would beat an origin that asks for less.
 */
export function waitFor(
  { attempt, ended }: LivingAttempt,
  duplicate: ExchangeHead["duplicate"],
  ms: number,
): Promise<Refusal | null> {
  // One that has begun and cannot be attached to is over only when it has ended.
  const attaches = duplicate === "attach" && !attempt.hasBegun;
  return firstOf(attaches ? Promise.race([ended, attempt.begun.then(() => null)]) : ended, ms);
}
