// The simulation on the command line.
//
//   npx node test/simulation/run.ts --interleavings 1000000 --seed 1
//   npx node test/simulation/run.ts --only 2654435770      one interleaving again, step by step
//   npx node test/simulation/run.ts --layouts          several objects while the layout changes (layouts/)
//   npx node test/simulation/run.ts --without stalls,foreign   leaves out what plan.ts calls extras

import { parseArgs } from "node:util";
import { Progress } from "../support/progress.ts";
import { explore, replay } from "./explore.ts";
import { exploreLayouts, replayLayouts } from "../features/previous-shards/simulation/interleaving.ts";
import { FAULTS as LAYOUT_FAULTS, KINDS as LAYOUT_KINDS } from "../features/previous-shards/simulation/plan.ts";
import { extrasWithout, FAULTS, KINDS } from "./plan.ts";

const { values } = parseArgs({
  options: {
    interleavings: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    layouts: { type: "boolean", default: false },
    without: { type: "string", default: "" },
  },
});
const { only, layouts } = values;
const extras = extrasWithout(values.without.split(",").filter((name) => name !== ""));
const say = console.log;

if (only === undefined) await exploreAll(Number(values.interleavings), Number(values.seed));
else await tell(Number(only));

async function exploreAll(interleavings: number, seed: number): Promise<void> {
  // The simulation replaces it by its own.
  const now = performance.now.bind(performance);
  const startedMs = now();
  const seconds = (): string => ((now() - startedMs) / 1000).toFixed(1);
  const progress = new Progress("simulation", interleavings, { unit: "interleavings" });
  const show = (done: number): void => progress.show(done);
  const result = layouts
    ? await exploreLayouts(interleavings, seed, show)
    : await explore(interleavings, seed, show, extras);
  progress.end();
  const { distinct, steps, counts, broken } = result;
  say(`interleavings  ${result.interleavings}`);
  say(`distinct       ${distinct}`);
  say(`steps          ${steps}`);
  const faults: ReadonlySet<string> = new Set([...FAULTS, ...LAYOUT_FAULTS]);
  for (const kind of layouts ? LAYOUT_KINDS : KINDS)
    say(`  ${faults.has(kind) ? "fault" : "step "}  ${kind.padEnd(16)} ${counts.get(kind) ?? 0}`);
  say(`violations     ${broken.length}`);
  say(`seed           ${seed}`);
  say(`seconds        ${seconds()}`);
  for (const { seed: one } of broken) await tell(one);
}

async function tell(seed: number): Promise<void> {
  say(`\n--only ${seed}`);
  const trace = (what: string): void => say(`  ${what}`);
  const { violations } = layouts ? await replayLayouts(seed, trace) : await replay(seed, trace, extras);
  for (const violation of violations) say(`  VIOLATION ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}
