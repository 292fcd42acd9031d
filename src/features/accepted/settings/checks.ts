// Checks the relations between the settings of accepted requests and others. As in cross-checks.ts, a relation with an invalid
// setting is skipped.

import type { InForce } from "../../../kernel/config/in-force.ts";
import type { ConfigProblem } from "../../../kernel/config/resolved.ts";
import { driveOf } from "./entries.ts";
import { formatDuration, HOUR_MS } from "../../../kernel/config/units.ts";

export function asyncProblems(inForce: InForce): readonly ConfigProblem[] {
  const { all, isKnown } = inForce;
  if (!isKnown("async")) return [];
  if (all.async === "never") return unusedGiveUp(inForce);
  return [...acceptanceProblems(inForce), ...driveProblems(inForce)];
}

/** In `IDEMPOTENCY` it may be for other routes. */
function unusedGiveUp({ all, source, isKnown }: InForce): readonly ConfigProblem[] {
  const place = source("give_up");
  if (!isKnown("give_up") || place === null || place === "IDEMPOTENCY" || Object.keys(all.give_up).length === 0)
    return [];
  const message = 'has no effect with async = "never": write async = "prefer", or leave it out';
  return [{ path: `${place}.give_up`, code: "setting-unused", message }];
}

/** What an accepted request needs: a place where it may lie, and a record. */
function acceptanceProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (isKnown("sealed") && all.sealed === true) {
    const message = `must not be "${all.async}" with sealed = true, because an accepted request is stored in the open until its result: write async = "never"`;
    problems.push({ path: `${place("async", "sealed")}.async`, code: "settings-contradict", message });
  }
  if (isKnown("on_store_failure") && all.on_store_failure === "open") {
    const message = `must not be "open" with async = "${all.async}", because a request that cannot be stored cannot be accepted: write "closed"`;
    problems.push({
      path: `${place("on_store_failure", "async")}.on_store_failure`,
      code: "settings-contradict",
      message,
    });
  }
  return problems;
}

function driveProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  if (!isKnown("give_up")) return [];
  const problems: ConfigProblem[] = [];
  const { giveUpAfterMs, longestPauseMs } = driveOf(all.give_up);
  if (isKnown("lock") && giveUpAfterMs <= all.lock) {
    const message = `must exceed lock (${formatDuration(all.lock)}), because a lost attempt is followed by another one only when its lock has ended: write after = "${formatDuration(Math.max(24 * HOUR_MS, all.lock))}"`;
    problems.push({ path: `${place("give_up", "lock")}.give_up.after`, code: "settings-contradict", message });
  }
  if (isKnown("retention") && all.retention <= longestPauseMs) {
    const message = `must exceed the longest pause between two attempts (${formatDuration(longestPauseMs)}, from give_up.after), because a client that was told to come again after it has to find the result: write retention = "24h"`;
    problems.push({ path: `${place("retention", "give_up")}.retention`, code: "settings-contradict", message });
  }
  return problems;
}
