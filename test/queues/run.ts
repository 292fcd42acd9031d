// `npx node test/queues/run.ts [--kills 200] [--seed 1] [CONSUMER…]`: the long form of the evidence for queues (test/README.md, "Queues
// and crashes"). Prints one line for each consumer, and fails if a promise is broken.

import { parseArgs } from "node:util";
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
  console.log(JSON.stringify({ consumer, ...round }));
  const { doubled, lost, undecided, unfenced } = round.verdict;
  if (consumer !== "unprotected" && (lost > 0 || undecided > 0 || unfenced > 0)) process.exitCode = 1;
  if ((consumer === "verify" || consumer === "hold") && doubled > 0) process.exitCode = 1;
}
