// What accepted requests cost those that somebody waits for in the same shard, and how fast accepted ones come to their result: one
// shard for each variant, interleaved rounds, ratios within one round.
// `npm run bench -- accepted [--rounds 9] [--seconds 3] [--connections 4] [--rate 50] [--only NAME,NAME] [--disk]`;
// `test/bench/install.sh` once before.

import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startWorkerd } from "../support/gateway.ts";
import { findProcess } from "./process-memory.ts";
import { startOrigin } from "./processes.ts";
import { rowsOf, rowsTable } from "./report.ts";
import { BODY, post } from "./requests-of-load.ts";
import { type Metric, ratio, runRounds } from "./rounds.ts";
import type { Variant } from "./variants.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "4" },
    rate: { type: "string", default: "50" },
    only: { type: "string" },
    disk: { type: "boolean", default: false },
  },
});
const connections = Number(options.connections);
const rate = Number(options.rate);
const only = options.only?.split(",");

/** So many whose origin takes two minutes: all places of the shard are taken, and the others wait for their turn. */
const SLOW = 50;
const WANTED_P99 = 1.2;

const AWAITED = "/v1/payments";
const ACCEPTED = "/jobs/reports";

const stateDir = await mkdtemp(join(options.disk ? tmpdir() : "/dev/shm", "onceway-accepted-"));
const origin = await startOrigin();
const stops: (() => Promise<void>)[] = [];
const vars = {
  IDEMPOTENCY: { origin: origin.url, shards: 1, timeout: "5m", lock: "6m" },
  ROUTES: [{ path: "/v1/*" }, { path: "/jobs/*", async: "always" }, { path: "/slow/*", async: "always" }],
};

async function variant(name: string, more: Partial<Variant> = {}): Promise<Variant> {
  const gateway = await startWorkerd({ stateDir: join(stateDir, name.replaceAll(/\W/g, "-")), vars });
  stops.push(() => gateway.stop());
  const pids = [findProcess(gateway.pid, "workerd")];
  const requests = { path: AWAITED, keys: "new", prefix: null, body: BODY, succeeds: true } as const;
  return { name, url: gateway.url, ...requests, pids, leastConnections: 1, ...more };
}

/** Its shard has accepted so many requests, and none of them ends for two minutes. */
async function besideSlow(name: string): Promise<Variant> {
  const one = await variant(name);
  const agent = new Agent({ keepAlive: true });
  const sent = Array.from({ length: SLOW }, (_, at) => post(agent, `${one.url}/slow/report`, `slow${at}`));
  const statuses = await Promise.all(sent);
  agent.destroy();
  if (statuses.some((status) => status !== 202)) throw new Error(`not accepted: ${statuses.join(" ")}`);
  return one;
}

/** So many other requests in each second come to its shard while it is measured. */
async function besideOthers(name: string, path: string, expected: number): Promise<Variant> {
  const one = await variant(name);
  const agent = new Agent({ keepAlive: true });
  stops.push(async () => agent.destroy());
  let sent = 0;
  const meanwhile = (): (() => Promise<void>) => {
    const answers: ReturnType<typeof post>[] = [];
    const timer = setInterval(() => {
      sent += 1;
      answers.push(post(agent, one.url + path, `other${sent}`));
    }, 1000 / rate);
    return async () => {
      clearInterval(timer);
      const wrong = (await Promise.all(answers)).filter((status) => status !== expected);
      if (wrong.length > 0) throw new Error(`${name}: ${wrong.join(" ")}`);
    };
  };
  return { ...one, meanwhile };
}

const VARIANTS: Readonly<Record<string, (name: string) => Promise<Variant>>> = {
  alone: (name) => variant(name),
  // What of the others' differences is chance.
  "alone again": (name) => variant(name),
  "beside slow": besideSlow,
  "beside awaited": (name) => besideOthers(name, AWAITED, 201),
  "beside accepted": (name) => besideOthers(name, ACCEPTED, 202),
  "to the result": (name) => variant(name, { path: ACCEPTED, prefer: "wait=10" }),
};

/** What is compared with what: no bound for those that only show what others are made of. */
const RATIOS: readonly { readonly of: string; readonly to: string; readonly atMost?: number }[] = [
  { of: "alone again", to: "alone" },
  { of: "beside slow", to: "alone", atMost: WANTED_P99 },
  { of: "beside accepted", to: "beside awaited", atMost: WANTED_P99 },
  { of: "beside awaited", to: "alone" },
  { of: "to the result", to: "alone" },
];
const METRICS: readonly Metric[] = ["p50Ms", "p99Ms", "perSecond", "microsecondsPerRequest"];

try {
  const variants: Variant[] = [];
  for (const [name, start] of Object.entries(VARIANTS)) {
    if (only?.includes(name) !== false) variants.push(await start(name));
  }
  const rounds = { rounds: Number(options.rounds), seconds: Number(options.seconds), warmUpSeconds: 12 };
  const samples = await runRounds(variants, { connections, ...rounds });
  console.log(rowsTable(rowsOf(variants, samples)));
  for (const { of, to, atMost } of RATIOS) {
    for (const metric of METRICS) {
      const spread = ratio(samples, { name: of, of, to, metric, connections });
      if (spread === null) continue;
      const figures = `${spread.median.toFixed(2)} (${spread.min.toFixed(2)} to ${spread.max.toFixed(2)})`;
      const wanted = metric === "p99Ms" && atMost !== undefined ? `, wanted: at most ${atMost}` : "";
      console.log(`${of} ÷ ${to}, ${metric}: ${figures}${wanted}`);
    }
  }
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
