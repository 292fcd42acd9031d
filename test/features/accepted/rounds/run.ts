// `npx node test/features/accepted/rounds/run.ts [--kills 160] [RULE…]`: the long form of the evidence for accepted requests (test/README.md, "Accepted
// requests and crashes"). Prints a summary of each round, and fails if a guarantee is broken.

import { parseArgs } from "node:util";
import { checkHistory } from "../../../guarantees/check-history.ts";
import { summarize } from "../../../guarantees/summary.ts";
import { pointsOf, runRound, type UnknownRule } from "./round.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string", default: "160" } },
});

const RULES: readonly UnknownRule[] = ["retry", "verify", "hold"];

/**
 * The most kills at each point in one round. With more of them some requests use up what `give_up` promises (scene.ts): 20 attempts within
 * ten minutes.
 */
const KILLS_PER_ROUND = 40;

for (const unknown of RULES.filter((one) => positionals.length === 0 || positionals.includes(one))) {
  for (let left = Number(values.kills); left > 0; left -= KILLS_PER_ROUND) {
    const round = await runRound({ unknown, points: pointsOf(unknown), kills: Math.min(left, KILLS_PER_ROUND) });
    const violations = checkHistory(round.history);
    console.log(summarize(round.history, violations));
    if (violations.length > 0) process.exitCode = 1;
  }
}
