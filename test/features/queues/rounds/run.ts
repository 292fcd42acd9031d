// `npx node test/features/queues/rounds/run.ts [--kills 200] [--seed 1] [CONSUMER…]`: the long form of the evidence for queues (test/README.md, "Queues
// and crashes"). Prints a summary for each consumer, and fails if a guarantee is broken.

import { parseArgs } from "node:util";
import { checkHistory } from "../../../guarantees/check-history.ts";
import { summarize } from "../../../guarantees/summary.ts";
import { type Consumer, pointsOf, runRound } from "./round.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string", default: "200" }, seed: { type: "string", default: "1" } },
});

const CONSUMERS: readonly Consumer[] = ["unprotected", "retry", "verify", "hold"];

for (const consumer of CONSUMERS.filter((one) => positionals.length === 0 || positionals.includes(one))) {
  const points = pointsOf(consumer);
  const round = await runRound({
    consumer,
    points,
    kills: Number(values.kills),
    seed: Number(values.seed),
  });
  const violations = checkHistory(round.history);
  console.log(summarize(round.history, violations));
  if (consumer !== "unprotected" && violations.length > 0) process.exitCode = 1;
}
