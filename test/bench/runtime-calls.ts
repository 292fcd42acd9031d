// What the runtime's own objects and calls cost in processor time, each alone: with the budget's counts (budget.test.ts) it says how
// much of a request they are. The least of some rounds, since whatever else the machine does only adds.
// `npm run bench -- runtime [--only NAME,NAME] [--rounds 6]`.

import { mkdtemp, rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { startWorkerd } from "../support/gateway.ts";
import { findProcess } from "./process-memory.ts";
import { processorMicroseconds } from "./processes.ts";

const { values: options } = parseArgs({
  options: { only: { type: "string" }, rounds: { type: "string", default: "6" } },
});

const MAIN = fileURLToPath(new URL("runtime-calls/index.ts", import.meta.url));

/** Calls of an object take a hundred times as long as others, and the worst bodies longer still. */
function timesOf(name: string): number {
  if (name.startsWith("worst")) return 10;
  return name.startsWith("object") ? 500 : 5000;
}

const stateDir = await mkdtemp("/dev/shm/onceway-runtime-");
const worker = await startWorkerd({ stateDir, vars: { IDEMPOTENCY: {}, ROUTES: [] }, main: MAIN });
try {
  const pids = [findProcess(worker.pid, "workerd")];
  const all = v.parse(v.array(v.string()), await (await fetch(`${worker.url}/names`)).json());
  const names = options.only?.split(",") ?? all;
  const least = new Map<string, number>();
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const name of names) {
      const times = timesOf(name);
      const before = processorMicroseconds(pids);
      const { status } = await fetch(`${worker.url}/${name}?times=${times}`, {
        headers: { authorization: "Bearer x" },
      });
      if (status !== 204) throw new Error(`${name}: ${status}`);
      const microseconds = (processorMicroseconds(pids) - before) / times;
      least.set(name, Math.min(least.get(name) ?? Number.POSITIVE_INFINITY, microseconds));
    }
  }
  for (const [name, microseconds] of least) console.log(`${name.padEnd(20)} ${microseconds.toFixed(2).padStart(8)} µs`);
} finally {
  await worker.stop();
  await rm(stateDir, { recursive: true, force: true });
}
