// `npx node test/features/claims/rounds/run.ts [--rounds 10] [BROKER…]`: the long form of the evidence for claims (test/README.md, "Claims and brokers"). Prints one line
// for each broker, rule and point, and fails if a promise is broken.

import { parseArgs } from "node:util";
import { POINTS } from "./consumer.ts";
import { recordsIn } from "./records.ts";
import { killRound, MESSAGES, replayRound, stopRound } from "./rounds.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "10" } },
});
const rounds = Number(values.rounds);

function isAsked(broker: string): boolean {
  return positionals.length === 0 || positionals.includes(broker);
}

function report(line: object, isBroken: boolean): void {
  console.log(JSON.stringify(line));
  if (isBroken) process.exitCode = 1;
}

for (const broker of (["redis", "kafka"] as const).filter(isAsked)) {
  for (const unknown of ["hold", "retry"] as const) {
    for (const point of POINTS) {
      let doubled = 0;
      let undecided = 0;
      let wrong = 0;
      for (let round = 0; round < rounds; round += 1) {
        const verdict = await killRound(broker, unknown, point);
        doubled += verdict.struck.length > 1 ? 1 : 0;
        undecided += verdict.ends["OutcomeUnknownError"] ?? 0;
        wrong += verdict.wrong.length + verdict.violations.length;
      }
      report(
        { broker, unknown, point, kills: rounds, messages: rounds * MESSAGES, doubled, undecided, wrong },
        wrong > 0,
      );
    }
  }
  let superseded = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { said, violations } = await stopRound(broker);
    superseded += said === "SupersededError" && violations.length === 0 ? 1 : 0;
  }
  report({ broker, stopped: rounds, superseded }, superseded !== rounds);
}
if (isAsked("kafka")) {
  const { ends, wrong, violations, before, after } = await replayRound(recordsIn);
  const broken = wrong.length + violations.length;
  report({ replayed: ends, wrong: broken, written: before !== after }, broken > 0 || before !== after);
}
