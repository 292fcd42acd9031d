// Claims per second: claim and completion of distinct keys, and claims of one key that somebody holds, alone and in batches of 100.
// `npm run bench -- claims [--seconds 3] [--rounds 5] [--connections 8] [--disk]`. One machine: gateway and consumers share its cores.

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startWorkerd } from "../support/gateway.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "5" },
    connections: { type: "string", default: "8" },
    disk: { type: "boolean", default: false },
  },
});
const seconds = Number(options.seconds);
const connections = Number(options.connections);

const TOKEN = "c".repeat(40);
const stateDir = await mkdtemp(join(options.disk ? tmpdir() : "/dev/shm", "onceway-claims-"));
const gateway = await startWorkerd({
  stateDir,
  vars: {
    IDEMPOTENCY: { origin: "http://127.0.0.1:9" },
    ROUTES: [{ path: "/protected" }],
    CONSUMERS: [{ name: "bench", token: "BENCH_TOKEN", lock: "15m" }],
  },
  bindings: { BENCH_TOKEN: TOKEN },
});

interface Entry {
  readonly key: string;
  readonly attemptId: string;
}

async function ask(operation: string, entries: readonly object[], wanted: string): Promise<void> {
  const response = await fetch(`${gateway.url}/_claims/bench${operation}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ claims: entries }),
  });
  const { claims }: { claims: readonly { state: string }[] } = JSON.parse(await response.text());
  const other = claims.find(({ state }) => state !== wanted);
  if (other !== undefined) throw new Error(`${other.state} instead of ${wanted}`);
}

const fresh = (size: number, key?: string): readonly Entry[] =>
  Array.from({ length: size }, () => ({ key: key ?? randomUUID(), attemptId: randomUUID() }));
const claimOf = ({ key, attemptId }: Entry): object => ({ key, attemptId, payloadHash: "h" });

/** Claims and completes keys of its own. */
async function distinct(size: number): Promise<void> {
  const entries = fresh(size);
  await ask("", entries.map(claimOf), "granted");
  await ask("/complete", entries, "settled");
}

const held = fresh(1);
await ask("", held.map(claimOf), "granted");

/** Claims the key that somebody holds. */
function colliding(size: number): Promise<void> {
  return ask("", fresh(size, held[0]?.key).map(claimOf), "in-flight");
}

/** Entries per second, with so many consumers at a time. */
async function rate(run: (size: number) => Promise<void>, size: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let done = 0;
  const consumer = async (): Promise<void> => {
    while (performance.now() < end) {
      await run(size);
      done += size;
    }
  };
  await Promise.all(Array.from({ length: connections }, consumer));
  return done / seconds;
}

const CASES = [
  ["distinct keys, claim and complete, alone", distinct, 1],
  ["distinct keys, claim and complete, by 100", distinct, 100],
  ["one key that is held, claim, alone", colliding, 1],
  ["one key that is held, claim, by 100", colliding, 100],
] as const;

const rates = new Map<string, number[]>(CASES.map(([name]) => [name, []]));
for (let round = 0; round < Number(options.rounds); round += 1) {
  for (const [name, run, size] of CASES) rates.get(name)?.push(await rate(run, size));
}
for (const [name, all] of rates) {
  const sorted = all.toSorted((one, other) => one - other).map(Math.round);
  console.log(`${name.padEnd(44)} ${sorted[sorted.length >> 1]}/s  (${sorted[0]} to ${sorted.at(-1)})`);
}
await gateway.stop();
await rm(stateDir, { recursive: true, force: true });
