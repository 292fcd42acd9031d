// Counts the verdicts of attempts, and accepted requests that are given up. Needs no row: what was counted is written by its own rules.

import { promiseIn } from "../record/record.ts";
import { verdictOf } from "../record/timeline.ts";
import type { StepHook } from "../step-hook.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import type { Traffic } from "../traffic/traffic.ts";

export function countedSteps(traffic: Pick<Traffic, "verdict" | "givenUp">): StepHook {
  return {
    name: "counts",
    join: ({ before, after, event, label, now }) => {
      if (before === null) return null;
      const verdict = verdictOf(before, event, now);
      const isGivenUp = event.type !== "cancel" && promiseIn(before) !== null && after?.state === "failed";
      if (verdict === null && !isGivenUp) return null;
      let route = "";
      bookkeep("finding a route", () => ({ route } = label()));
      return {
        write: null,
        written: () => {
          if (verdict !== null) bookkeep("counting a verdict", () => traffic.verdict(route, verdict));
          if (isGivenUp) bookkeep("counting what is given up", () => traffic.givenUp(route));
        },
      };
    },
  };
}
