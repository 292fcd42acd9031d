// The simulation on the command line.
//
//   npx node test/simulation/run.ts --interleavings 1000000 --seed 1
//   npx node test/simulation/run.ts --only 2654435770      one interleaving again, step by step
//   npx node test/simulation/run.ts --layouts          several objects while the layout changes (features/previous-shards/simulation/)
//   npx node test/simulation/run.ts --without stalls,foreign   leaves out what plan.ts calls extras

import { parseArgs } from "node:util";
import { Progress } from "../support/progress.ts";
import { type Exploration, explore, replay } from "./explore.ts";
import { exploreLayouts, replayLayouts } from "../features/previous-shards/simulation/interleaving.ts"; // feature: previous-shards
import { FAULTS as LAYOUT_FAULTS, KINDS as LAYOUT_KINDS } from "../features/previous-shards/simulation/plan.ts"; // feature: previous-shards
import type { Interleaving } from "./interleaving.ts";
import { extrasWithout, FAULTS, KINDS } from "./plan.ts";

/** One shard, or what a feature explores instead. */
interface Explored {
  readonly explore: (interleavings: number, seed: number, progress: (done: number) => void) => Promise<Exploration>;
  readonly replay: (seed: number, trace: (what: string) => void) => Promise<Interleaving>;
  readonly kinds: readonly string[];
  readonly faults: readonly string[];
}

const { values } = parseArgs({
  options: {
    interleavings: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    layouts: { type: "boolean", default: false }, // feature: previous-shards
    without: { type: "string", default: "" },
  },
});
const { only } = values;
const extras = extrasWithout(values.without.split(",").filter((name) => name !== ""));
let explored: Explored = {
  explore: (interleavings, seed, show) => explore(interleavings, seed, show, extras),
  replay: (seed, trace) => replay(seed, trace, extras),
  kinds: KINDS,
  faults: FAULTS,
};
// feature: previous-shards begins
if (values.layouts)
  explored = { explore: exploreLayouts, replay: replayLayouts, kinds: LAYOUT_KINDS, faults: LAYOUT_FAULTS };
// feature: previous-shards ends
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
  const result = await explored.explore(interleavings, seed, show);
  progress.end();
  const { distinct, steps, counts, broken } = result;
  say(`interleavings  ${result.interleavings}`);
  say(`distinct       ${distinct}`);
  say(`steps          ${steps}`);
  const faults = new Set(explored.faults);
  for (const kind of explored.kinds)
    say(`  ${faults.has(kind) ? "fault" : "step "}  ${kind.padEnd(16)} ${counts.get(kind) ?? 0}`);
  say(`violations     ${broken.length}`);
  say(`seed           ${seed}`);
  say(`seconds        ${seconds()}`);
  for (const { seed: one } of broken) await tell(one);
}

async function tell(seed: number): Promise<void> {
  say(`\n--only ${seed}`);
  const trace = (what: string): void => say(`  ${what}`);
  const { violations } = await explored.replay(seed, trace);
  for (const violation of violations) say(`  VIOLATION ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}
