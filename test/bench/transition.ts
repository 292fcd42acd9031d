// What a first request costs while the number of shards changes, beside the same gateway where it does not: interleaved rounds, and
// ratios within one round. `npm run bench -- transition [--rounds 9] [--seconds 3] [--connections 16] [--disk]`;
// `test/bench/install.sh` once before.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** 400 for each of 64 older objects. */
const OLDER_KEYS = 25_600;
/** First requests before the measurement. */
const WARM_UP_KEYS = 10_000;
const WANTED = 0.8;
const ADMIN_TOKEN = "a".repeat(32);

const stateDir = await mkdtemp(join(options.disk ? tmpdir() : "/dev/shm", "onceway-transition-"));
const origin = await startOrigin();
const stops: (() => Promise<void>)[] = [];

function varsOf(layout: { readonly [setting: string]: number | readonly number[] }) {
  return { IDEMPOTENCY: { origin: origin.url, ...layout }, ROUTES: [{ path: "/v1/*" }], ADMIN_TOKEN };
}

/** A gateway that had 64 shards, with so many keys, and then has this layout. `closes`: the layout of before. `last`: what it has in the end. */
async function variant(
  name: string,
  layout: { readonly [setting: string]: number | readonly number[] },
  keys: number,
  closes: boolean,
  last = layout,
): Promise<Variant> {
  const before = await startWorkerd({ stateDir: join(stateDir, name), vars: varsOf({ shards: 64 }) });
  await fill(before.url, "/v1/payments", "older", keys);
  await before.stop();
  let gateway: Gateway = await before.restart({ vars: varsOf(layout) });
  stops.push(() => gateway.stop());
  if (closes) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const init = { method: "POST", headers, body: JSON.stringify({ layout: "64" }) };
    const { status } = await fetch(`${gateway.url}/_onceway/layouts/close`, init);
    if (status !== 200) throw new Error(`64 is not closed: ${status}`);
  }
  await fill(gateway.url, "/v1/payments", "warm", WARM_UP_KEYS);
  if (last !== layout) {
    await gateway.stop();
    gateway = await gateway.restart({ vars: varsOf(last) });
  }
  const pids = [findProcess(gateway.pid, "workerd")];
  const request = { path: "/v1/payments", keys: "new", prefix: null, body: BODY } as const;
  return { name, url: gateway.url, ...request, succeeds: true, pids, leastConnections: 1 };
}

try {
  const transition = { shards: 128, previous_shards: [64] };
  const variants = [
    await variant("outside", { shards: 128 }, OLDER_KEYS, false),
    await variant("open", transition, OLDER_KEYS, false),
    await variant("closed", transition, OLDER_KEYS, true),
    await variant("empty", transition, 0, true),
    await variant("gone", transition, 0, true, { shards: 128 }),
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
      const wanted = name === "closed" && metric === "perSecond" ? `, wanted: at least ${WANTED}` : "";
      console.log(`${name} ÷ outside, ${metric}: ${figures}${wanted}`);
    }
  }
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
