// What a first request costs while the number of shards changes, beside the same gateway where it does not, and beside one whose
// objects ask another object for nothing: interleaved rounds, and ratios within one round. `npm run bench -- transition [--rounds 9] [--seconds 3] [--connections 16] [--disk]`;
// `test/bench/install.sh` once before.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Gateway, startWorkerd } from "../support/gateway.ts";
import { findProcess } from "./process-memory.ts";
import { startOrigin } from "./processes.ts";
import { rowsOf, rowsTable } from "./report.ts";
import { BODY, fill } from "./requests-of-load.ts";
import { ratio, type RatioOf, runRounds } from "./rounds.ts";
import type { Variant } from "./variants.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "16" },
    disk: { type: "boolean", default: false },
  },
});
const connections = Number(options.connections);

/** 400 for each of 64 older objects, which list them at once; 6,400 for each of 4, which list them in parts. */
const OLDER_KEYS = 25_600;
/** First requests before the measurement: 128 objects each ask for sixteen parts. */
const WARM_UP_KEYS = 10_000;
const WANTED = 0.85;
const EMPTY_QUESTION = fileURLToPath(new URL("empty-question/index.ts", import.meta.url));

const stateDir = await mkdtemp(join(options.disk ? tmpdir() : "/dev/shm", "onceway-transition-"));
const origin = await startOrigin();
const stops: (() => Promise<void>)[] = [];

function varsOf(layout: { readonly [setting: string]: number | readonly number[] }) {
  return { IDEMPOTENCY: { origin: origin.url, ...layout }, ROUTES: [{ path: "/v1/*" }] };
}

/** A gateway that had so many shards, with so many keys, and now has this layout. */
async function variant(
  name: string,
  layout: { readonly [setting: string]: number | readonly number[] },
  older: { readonly shards: number; readonly keys: number },
  main?: string,
): Promise<Variant> {
  const before = await startWorkerd({ stateDir: join(stateDir, name), vars: varsOf({ shards: older.shards }) });
  await fill(before.url, "/v1/payments", "older", older.keys);
  await before.stop();
  const gateway: Gateway = await before.restart({ vars: varsOf(layout), ...(main === undefined ? {} : { main }) });
  stops.push(() => gateway.stop());
  await fill(gateway.url, "/v1/payments", "warm", WARM_UP_KEYS);
  const pids = [findProcess(gateway.pid, "workerd")];
  const request = { path: "/v1/payments", keys: "new", prefix: null, body: BODY } as const;
  return { name, url: gateway.url, ...request, succeeds: true, pids, leastConnections: 1 };
}

try {
  const older = { shards: 64, keys: OLDER_KEYS };
  const transition = { shards: 128, previous_shards: [64] };
  const variants = [
    await variant("outside", { shards: 128 }, older),
    await variant("in transition", transition, older),
    await variant("in transition, listed in parts", { shards: 128, previous_shards: [4] }, { ...older, shards: 4 }),
    await variant("nothing older left", transition, { ...older, keys: 0 }),
    await variant("an empty question", { shards: 128 }, older, EMPTY_QUESTION),
  ];
  const rounds = { rounds: Number(options.rounds), seconds: Number(options.seconds), warmUpSeconds: 12 };
  const samples = await runRounds(variants, { connections, ...rounds });
  console.log(rowsTable(rowsOf(variants, samples)));
  for (const { name } of variants.slice(1)) {
    for (const metric of ["perSecond", "microsecondsPerRequest"] as const) {
      const asked: RatioOf = { name, of: name, to: "outside", metric, connections };
      const spread = ratio(samples, asked);
      if (spread === null) continue;
      const figures = `${spread.median.toFixed(3)} (${spread.min.toFixed(3)} to ${spread.max.toFixed(3)})`;
      const wanted = name.startsWith("in transition") && metric === "perSecond" ? `, wanted: at least ${WANTED}` : "";
      console.log(`${name} ÷ outside, ${metric}: ${figures}${wanted}`);
    }
  }
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
