// `npx node test/accepted/run.ts [--kills 150] [RULE…]`: the long form of the evidence for accepted requests (test/README.md, "Accepted
// requests and crashes"). Prints one line for each rule for unknown outcomes, and fails if a promise is broken.

import { parseArgs } from "node:util";
import { pointsOf, runRound, type UnknownRule } from "./round.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string", default: "150" } },
});

const RULES: readonly UnknownRule[] = ["retry", "verify", "hold"];

for (const unknown of RULES.filter((one) => positionals.length === 0 || positionals.includes(one))) {
  const round = await runRound({ unknown, points: pointsOf(unknown), kills: Number(values.kills) });
  console.log(JSON.stringify({ unknown, ...round }));
  const { lost, unfenced, different, told, credentials, doubled } = round.verdict;
  if (lost + unfenced + different + told + credentials > 0) process.exitCode = 1;
  if (unknown !== "retry" && doubled > 0) process.exitCode = 1;
}
