// What an encrypted response costs, beside the same gateway with an open one: processor time of a first request and of a replay that the
// Worker does not remember, in interleaved rounds, and bytes on disk for each record.
// `npm run bench -- encrypted [--rounds 7] [--seconds 2] [--connections 16]`; `test/bench/install.sh` once before.

import { readdirSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startWorkerd } from "../support/gateway.ts";
import { findProcess } from "./process-memory.ts";
import { startOrigin } from "./processes.ts";
import { rowsOf, rowsTable } from "./report.ts";
import { BODY, fill } from "./requests-of-load.ts";
import { ratio, runRounds, samplesOf, spreadOf } from "./rounds.ts";
import type { Variant } from "./variants.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "16" },
  },
});
const connections = Number(options.connections);

/** Twice as many as the Worker notes. */
const KNOWN_KEYS = 8192;

const PATH = "/v1/payments";
const KINDS = ["first request", "replay"] as const;

const stateDir = await mkdtemp(join(tmpdir(), "onceway-encrypted-"));
const origin = await startOrigin();
const stops: (() => Promise<void>)[] = [];

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sqlite"))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** A gateway with so many records, for first requests and for replays; and the bytes of each record. */
async function gateway(encrypted: boolean): Promise<{ readonly variants: readonly Variant[]; readonly bytes: number }> {
  const name = encrypted ? "encrypted" : "open";
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: 8, encrypt_responses: encrypted },
    ROUTES: [{ path: "/v1/*" }],
  };
  const folder = join(stateDir, name);
  const started = await startWorkerd({ stateDir: folder, vars, bindings: { ENCRYPTION_SECRET: "s".repeat(64) } });
  await fill(started.url, PATH, "known", KNOWN_KEYS);
  // Everything is in the databases, nothing in their logs.
  await started.stop();
  const bytes = bytesIn(folder) / KNOWN_KEYS;
  const running = await started.restart();
  stops.push(() => running.stop());
  const pids = [findProcess(running.pid, "workerd")];
  const shared = { url: running.url, path: PATH, body: BODY, pids, succeeds: true, leastConnections: 1 } as const;
  const variants = [
    { ...shared, name: `${name} first request`, keys: "new", prefix: null } as const,
    { ...shared, name: `${name} replay`, keys: KNOWN_KEYS, prefix: "known" },
  ];
  return { variants, bytes };
}

try {
  const [open, encrypted] = [await gateway(false), await gateway(true)];
  const variants = [...open.variants, ...encrypted.variants];
  const plan = { connections, rounds: Number(options.rounds), seconds: Number(options.seconds), warmUpSeconds: 8 };
  const samples = await runRounds(variants, plan);
  console.log(rowsTable(rowsOf(variants, samples)));
  for (const kind of KINDS) {
    const spread = ratio(samples, {
      name: kind,
      of: `encrypted ${kind}`,
      to: `open ${kind}`,
      metric: "microsecondsPerRequest",
      connections,
    });
    const times = ["open", "encrypted"].map((name) =>
      spreadOf(samplesOf(samples, `${name} ${kind}`, connections).map((one) => one.microsecondsPerRequest)),
    );
    const [before, after] = times.map((one) => one?.median.toFixed(0));
    const figures = `${spread?.median.toFixed(2)} (${spread?.min.toFixed(2)} to ${spread?.max.toFixed(2)})`;
    console.log(`${kind}: ${before} µs open, ${after} µs encrypted; encrypted ÷ open ${figures}`);
  }
  console.log(`bytes on disk for each record: ${open.bytes.toFixed(0)} open, ${encrypted.bytes.toFixed(0)} encrypted`);
} finally {
  for (const stop of stops.toReversed()) await stop();
  origin.stop();
  await rm(stateDir, { recursive: true, force: true });
}
