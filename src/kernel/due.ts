// What an object does by itself, at its alarm. All of it stands in one list (Exchanges.dues), in the order of work; the alarm is set for whatever
// of the list is due first.

import { earliest, type EpochMs } from "./record/units.ts";

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
  return times.length === 0 ? null : times.reduce((one, other) => earliest(one, other));
}
