// `npx node test/features/previous-shards/rounds/run.ts --requests 10000 --kills 20 --seed anything`: rounds of requests through several layouts at once, with
// kills at named points, and their check. Ends with status 1 when a guarantee was broken.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkHistory } from "../../../guarantees/check-history.ts";
import { dimensionsWithout } from "../../../chaos/dimensions.ts";
import { readHistory } from "../../../guarantees/history.ts";
import { summarize } from "../../../guarantees/summary.ts";
import { killsAtEach, LEFT_OUT } from "./judged-round.ts";
import { noKills } from "./killing-box.ts";
import { type Plan, PLANS, runRound } from "./mixed.ts";
import { FAULTS } from "./planted.ts";
import { POINTS } from "./points.ts";
import { rigEntry } from "./sources.ts";

/** One state directory closes 192 objects, so many kills at a close need several. */
const REQUESTS_IN_A_ROUND = 10_000;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    kills: { type: "string", default: "20" },
    clients: { type: "string", default: "32" },
    seed: { type: "string", default: String(Date.now()) },
    without: { type: "string", default: LEFT_OUT.join(",") },
    plan: { type: "string", default: "listed" },
    planted: { type: "string" },
    "keep-history": { type: "boolean", default: false },
  },
});

const { seed } = values;
const folder = await mkdtemp(join(tmpdir(), "onceway-layouts-run-"));
const total = Number(values.requests);
const rounds = Math.max(1, Math.round(total / REQUESTS_IN_A_ROUND));
const wanted = Math.ceil(Number(values.kills) / rounds);
const kills = killsAtEach(wanted);
const dimensions = dimensionsWithout(values.without.split(",").filter((name) => name !== ""));
const fault = FAULTS.find(({ name }) => name === values.planted);
if (values.planted !== undefined && fault === undefined) {
  throw new Error(`--planted: unknown fault "${values.planted}". Known: ${FAULTS.map(({ name }) => name).join("; ")}`);
}
const plan = fault?.plan ?? planNamed(values.plan);
const main = await rigEntry(fault?.patches);
const killed = noKills();
let requests = 0;
let closed = 0;
let broken = 0;
console.log(`layouts: seed ${seed}, ${rounds} rounds, ${total} requests, ${wanted} kills at each point in each round`);

for (let round = 1; round <= rounds; round += 1) {
  const file = join(folder, `${round}.jsonl`);
  const options = { clients: Number(values.clients), dimensions, kills, main, file, plan };
  const result = await runRound({ ...options, seed: `${seed}/${round}`, requests: Math.ceil(total / rounds) });
  const history = await readHistory(file);
  const violations = checkHistory(history);
  for (const point of POINTS) killed[point] += result.killed[point];
  requests += result.requests;
  closed += result.closed;
  broken += violations.length;
  console.log(summarize(history, violations));
  const struck = POINTS.map((point) => `${killed[point]} ${point}`).join(", ");
  console.log(
    `after round ${round}: ${requests} requests answered, ${closed} layouts closed, ${broken} violations; killed at: ${struck}`,
  );
  if (violations.length > 0) console.log(`the history stays in ${file}`);
  else if (!values["keep-history"]) await rm(file);
}

if (broken === 0 && !values["keep-history"]) await rm(folder, { recursive: true, force: true });
process.exitCode = broken > 0 ? 1 : 0;

function planNamed(name: string): Plan {
  if (isPlan(name)) return name;
  throw new Error(`--plan: unknown plan "${name}". Known: ${Object.keys(PLANS).join(", ")}`);
}

function isPlan(name: string): name is Plan {
  return name in PLANS;
}
