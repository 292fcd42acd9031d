// When the end of an attempt is known.

import type { AttemptFacts, Moment } from "./facts.ts";

/** The gateway has the whole result now, if it had none. */
export function hasResult(attempt: AttemptFacts, moment: Moment): void {
  if (attempt.resultAtMs !== null) return;
  attempt.resultAtMs = moment.nowMs;
  ends(attempt, moment);
}

export function ends(attempt: AttemptFacts, { nowMs, corrections }: Moment): void {
  attempt.ended = { nowMs, corrections };
}
