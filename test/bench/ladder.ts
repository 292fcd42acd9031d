// What stands between the floor and the gateway: the floor, the steps above it (floor/steps.ts), and the gateway, in interleaved rounds. `npm run bench -- ladder [--rounds 5] [--seconds 2] [--warm-up 12]`; `test/bench/install.sh` once before.

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { startWorkerd } from "../support/gateway.ts";
import { findProcess } from "./process-memory.ts";
import { startOrigin } from "./processes.ts";
import { rowsOf, rowsTable } from "./report.ts";
import { BODY } from "./requests-of-load.ts";
import { runRounds } from "./rounds.ts";
import type { Variant } from "./variants.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    "warm-up": { type: "string", default: "12" },
  },
});

const STEPS = ["parts", "identity", "deadline", "record", "headers"];

const stateDir = await mkdtemp("/dev/shm/onceway-ladder-");
const origin = await startOrigin();
const stops: (() => Promise<void>)[] = [];

async function variant(name: string, vars: object, main?: string): Promise<Variant> {
  const gateway = await startWorkerd({
    stateDir: join(stateDir, name),
    vars: { ORIGIN: origin.url, IDEMPOTENCY: { origin: origin.url, shards: 64 }, ROUTES: [{ path: "/v1/*" }], ...vars },
    ...(main === undefined ? {} : { main: fileURLToPath(new URL(main, import.meta.url)) }),
  });
  stops.push(() => gateway.stop());
  const pids = [findProcess(gateway.pid, "workerd")];
  const request = { path: "/v1/payments", keys: "new", prefix: null, body: BODY } as const;
  return { name, url: gateway.url, ...request, succeeds: true, pids, leastConnections: 1 };
}

try {
  const variants = [await variant("floor", {}, "floor/index.ts")];
  for (const [at, name] of STEPS.entries())
    variants.push(await variant(`+ ${name}`, { STEP: at + 1 }, "floor/steps.ts"));
  variants.push(await variant("the gateway", {}));
  const rounds = {
    rounds: Number(options.rounds),
    seconds: Number(options.seconds),
    warmUpSeconds: Number(options["warm-up"]),
  };
  const samples = await runRounds(variants, { connections: 16, ...rounds });
  console.log(rowsTable(rowsOf(variants, samples)));
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
