// The benchmark: throughput, latency and processor time of the gateway beside a Worker that only forwards, the least code
// that any correct design needs, and what a user would otherwise pick. Every figure of worth is a ratio within one round.
// `npm run bench -- throughput [--short] [--disk] [--rounds N] [--seconds N] [--warm-up N] [--no-peers] [--only NAME,NAME]
// [--connections 16,1] [--beside DIR] [--json FILE] [--svg DIR] [--volume FILE]`; `test/bench/install.sh` once before.
// `--beside` names another checkout of the project, with its node_modules: its gateway runs in the same rounds, beside this one.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Bar, barGraph } from "./graph.ts";
import { countMemoryHits } from "./memory-hits.ts";
import { startOrigin } from "./processes.ts";
import { jsonOf, ratiosOf, ratiosTable, type Row, rowsOf, rowsTable } from "./report.ts";
import { type Metric, type Plan, runRounds, type Sample } from "./rounds.ts";
import { COLD, startScene } from "./variants.ts";
import { firstMillionVsThousand } from "./volume.ts";
import { runWrk } from "./wrk.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    disk: { type: "boolean", default: false },
    "no-peers": { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
    "warm-up": { type: "string" },
    beside: { type: "string" },
    connections: { type: "string", default: "16,1" },
    only: { type: "string" },
    json: { type: "string" },
    svg: { type: "string" },
    volume: { type: "string" },
  },
});
const { short } = options;
const rounds = Number(options.rounds ?? (short ? 2 : 9));
const seconds = Number(options.seconds ?? (short ? 1 : 3));
const warmUpSeconds = Number(options["warm-up"] ?? (short ? 1 : 12));
const PLANS: readonly Plan[] = [
  { connections: 16, rounds, seconds, warmUpSeconds },
  // The code is warm by now.
  { connections: 1, rounds: short ? 1 : rounds, seconds, warmUpSeconds: short ? 0 : 1 },
];
const COLD_KEYS = short ? 2000 : 20_000;

function graph(title: string, rows: readonly Row[], metric: Metric, digits: number): string {
  const bars = rows.flatMap((row): Bar[] => {
    const spread = row[metric];
    const tone =
      row.variant === "straight" || row.variant === "floor" ? 2 : /^(?:Fastify|KV)/.test(row.variant) ? 1 : 0;
    return spread === null ? [] : [{ label: row.variant, spread, tone }];
  });
  const where = `state on ${options.disk ? "disk" : "tmpfs"}`;
  return barGraph(
    title,
    `Medians of ${rounds} interleaved rounds of ${seconds} s, with their range; ${where}`,
    bars,
    digits,
  );
}

async function writeGraphs(folder: string, rows: readonly Row[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const many = rows.filter(({ connections }) => connections === 16);
  const one = rows.filter(({ connections }) => connections === 1);
  const graphs = {
    "throughput.svg": graph("Requests per second, 16 connections", many, "perSecond", 0),
    "latency-p50.svg": graph("Median latency in ms, 1 connection", one, "p50Ms", 2),
    "processor.svg": graph("Processor time per request in µs, 16 connections", many, "microsecondsPerRequest", 0),
  };
  for (const [name, text] of Object.entries(graphs)) await writeFile(join(folder, name), text);
}

const names = options.only?.split(",") ?? null;

function isChosen(name: string): boolean {
  return names === null || names.includes(name);
}

const volume = await firstMillionVsThousand(options.volume);
const stateDir = await mkdtemp(join(options.disk ? tmpdir() : "/dev/shm", "onceway-bench-"));
const origin = await startOrigin();
try {
  const withPeers = !short && !options["no-peers"];
  const beside = options.beside ?? null;
  const scene = await startScene({ originUrl: origin.url, stateDir, coldKeys: COLD_KEYS, withPeers, isChosen, beside });
  try {
    const load = { path: "/", keys: "new", prefix: "alone", body: "{}", connections: 16, seconds: 1 } as const;
    const alone = await runWrk({ url: origin.url, ...load });
    const { variants } = scene;
    const samples: Sample[] = [];
    const counts = new Set(options.connections.split(",").map(Number));
    for (const plan of PLANS.filter(({ connections }) => counts.has(connections)))
      samples.push(...(await runRounds(variants, plan)));
    const rows = rowsOf(variants, samples);
    const [cpu] = cpus();
    const memory = isChosen(COLD) ? await countMemoryHits(origin.url, stateDir, COLD_KEYS) : null;
    const conditions = {
      state: options.disk ? "disk" : "tmpfs",
      rounds,
      seconds,
      warmUpSeconds,
      coldKeys: COLD_KEYS,
      coldFromMemory: memory === null ? "not counted" : `${memory.hits} of ${memory.requests}`,
      processors: `${cpus().length} × ${cpu?.model ?? "unknown"}`,
      memoryGib: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      originAlonePerSecond: Math.round(alone.requests / alone.seconds),
    };
    console.log(`${rowsTable(rows)}\n\n${ratiosTable(ratiosOf(samples))}\n`);
    console.log(
      Object.entries(conditions)
        .map(([name, value]) => `${name}: ${value}`)
        .join(", "),
    );
    if (options.json !== undefined) await writeFile(options.json, jsonOf(rows, samples, volume, conditions));
    if (options.svg !== undefined) await writeGraphs(options.svg, rows);
    const failed = rows.reduce((sum, row) => sum + row.failed, 0);
    if (failed > 0) {
      console.error(`${failed} requests were not answered as their variant wants it`);
      process.exitCode = 1;
    }
  } finally {
    await scene.stop();
  }
} finally {
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
