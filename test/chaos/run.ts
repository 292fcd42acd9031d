// `npm run chaos -- --seconds 60 --seed anything --clients 24 --history run.jsonl`: a run, its check, its summary. Ends
// with status 1 when a guarantee was broken. `--without verify,stalls` leaves out what dimensions.ts names.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { showPhase } from "../support/progress.ts";
import { runChaos } from "./chaos.ts";
import { checkHistory } from "../guarantees/check-history.ts";
import { dimensionsWithout } from "./dimensions.ts";
import { readHistory } from "../guarantees/history.ts";
import { summarize } from "../guarantees/summary.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now()) },
    clients: { type: "string", default: "24" },
    history: { type: "string" },
    without: { type: "string", default: "" },
  },
});

const folder = values.history === undefined ? await mkdtemp(join(tmpdir(), "onceway-chaos-")) : null;
const file = values.history ?? join(folder ?? "", "history.jsonl");
const { seed } = values;
const dimensions = dimensionsWithout(values.without.split(",").filter((name) => name !== ""));
console.log(`chaos: seed ${seed}, ${values.seconds} seconds of faults, ${values.clients} clients`);
console.log(`with ${[...dimensions].join(", ") || "nothing more"}`);
const { seconds, clients } = values;
await runChaos({ seed, seconds: Number(seconds), clients: Number(clients), dimensions, file, showPhase });
const { history, violations } = await showPhase("the history is checked", null, async () => {
  const read = await readHistory(file);
  return { history: read, violations: checkHistory(read) };
});
console.log(summarize(history, violations));
if (violations.length > 0 && folder !== null) console.log(`the history stays in ${file}`);
else if (folder !== null) await rm(folder, { recursive: true, force: true });
process.exitCode = violations.length > 0 ? 1 : 0;
