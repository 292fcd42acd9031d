// What a second process brings: first requests through HAProxy to one process and to two, and to one without HAProxy, in
// interleaved rounds. The load generator and the origin run on the same cores, so the processor time of each request says
// what the throughput cannot. `npm run bench -- cores [--rounds 9] [--seconds 2] [--warm-up 12]`; `test/bench/install.sh` and
// `npm run setup` once before.

import { mkdtemp, rm } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Gateway, startWorkerd } from "../support/gateway.ts";
import { type Proxy, startProcessesProxy } from "../support/proxies.ts";
import { findProcess } from "./process-memory.ts";
import { processorMicroseconds, startOrigin } from "./processes.ts";
import { rowsOf, rowsTable } from "./report.ts";
import { BODY } from "./requests-of-load.ts";
import { ratio, type RatioOf, runRounds } from "./rounds.ts";
import type { Variant } from "./variants.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "2" },
    "warm-up": { type: "string", default: "12" },
  },
});

const CONNECTIONS = 32;
const RATIOS: readonly (readonly [of: string, to: string])[] = [
  ["2 processes", "1 process"],
  ["2 processes", "1 process, no HAProxy"],
  ["1 process", "1 process, no HAProxy"],
];

const stateDir = await mkdtemp("/dev/shm/onceway-cores-");
const origin = await startOrigin();
const stops: (() => Promise<void>)[] = [];

async function start(name: string): Promise<Gateway> {
  const gateway = await startWorkerd({
    stateDir: join(stateDir, name),
    vars: { IDEMPOTENCY: { origin: origin.url, shards: 64 }, ROUTES: [{ path: "/v1/*" }] },
  });
  stops.push(() => gateway.stop());
  return gateway;
}

/** The two processes of the file; with `mod(1)` all keys are the first one's. */
async function startProxy(first: Gateway, second: Gateway, processes: number): Promise<Proxy> {
  const ports = [first.port, second.port] as const;
  const places = { ports, operatorPorts: ports, operatorNetwork: "127.0.0.2/32" };
  const proxy = await startProcessesProxy(places, (text) => text.replace("mod(2)", `mod(${processes})`));
  stops.push(() => proxy.stop());
  return proxy;
}

function variant(name: string, port: number, gateways: readonly Gateway[]): Variant {
  const request = { path: "/v1/payments", keys: "new", prefix: null, body: BODY } as const;
  const pids = gateways.map(({ pid }) => findProcess(pid, "workerd"));
  return { name, url: `http://127.0.0.1:${port}`, ...request, succeeds: true, pids, leastConnections: 1 };
}

try {
  const alone = await start("alone");
  const gateways = [await start("first"), await start("second")] as const;
  const [one, two] = [await startProxy(alone, alone, 1), await startProxy(...gateways, 2)];
  const variants = [
    variant("1 process, no HAProxy", alone.port, [alone]),
    variant("1 process", one.port, [alone]),
    variant("2 processes", two.port, gateways),
  ];
  const load = { connections: CONNECTIONS, seconds: Number(options.seconds) };
  await runRounds(variants, { ...load, rounds: 0, warmUpSeconds: Number(options["warm-up"]) });
  const proxies = [one.pid, two.pid];
  const before = processorMicroseconds(proxies);
  const samples = await runRounds(variants, { ...load, rounds: Number(options.rounds), warmUpSeconds: 0 });
  const spent = processorMicroseconds(proxies) - before;
  console.log(`${rowsTable(rowsOf(variants, samples))}\n`);
  for (const [of, to] of RATIOS) {
    for (const metric of ["perSecond", "microsecondsPerRequest"] as const satisfies readonly RatioOf["metric"][]) {
      const quotient = ratio(samples, { name: of, of, to, metric, connections: CONNECTIONS });
      const [median, low, high] = [quotient?.median, quotient?.min, quotient?.max].map((value) => value?.toFixed(2));
      console.log(`${of} ÷ ${to}, ${metric}: ${median} (${low}–${high})`);
    }
  }
  const proxied = samples.filter(({ variant: name }) => name !== "1 process, no HAProxy");
  const requests = proxied.reduce((sum, sample) => sum + sample.requests, 0);
  console.log(`HAProxy: ${(spent / requests).toFixed(0)} µs per request; ${cpus().length} cores`);
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
