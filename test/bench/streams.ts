// Measures what large and streamed bodies cost: the peak memory of the isolate and of its process, and the time to the first
// byte of a stream, beside a Worker that only forwards, in the same run. `npm run bench -- streams [--short] [--tmpfs] [--only TEXT] [--json FILE]`

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Gateway, startWorkerd } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { Progress } from "../support/progress.ts";
import { watchIsolate } from "./isolate-memory.ts";
import { findProcess, type Peak, residentMib, watchMemory } from "./process-memory.ts";
import { median, quantileOf } from "./quantiles.ts";
import { exchange, MIB } from "./requests.ts";
import { CROWDS } from "./crowds.ts";
import { ROUNDS, type Scenario, SCENARIOS } from "./scenarios.ts";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean" },
    tmpfs: { type: "boolean" },
    only: { type: "string" },
    json: { type: "string" },
  },
});

type Variant = "gateway" | "straight";

interface MemoryRow extends Peak {
  readonly scenario: string;
  readonly variant: Variant;
  readonly baselineMib: number;
  /** The most that V8 counts to the isolate. */
  readonly isolateMib: number;
  readonly seconds: number;
  readonly mibPerSecond: number;
}

interface LatencyRow {
  readonly path: string;
  readonly medianMs: number;
  readonly lowMs: number;
  readonly highMs: number;
}

async function withState<T>(use: (stateDir: string) => Promise<T>): Promise<T> {
  const stateDir = await mkdtemp(join(options.tmpfs === true ? "/dev/shm" : tmpdir(), "onceway-bench-"));
  try {
    return await use(stateDir);
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

interface StartOptions {
  readonly shards: number;
  readonly inspectorPort?: number;
}

function start(
  variant: Variant,
  originUrl: string,
  stateDir: string,
  { shards, ...workerd }: StartOptions,
): Promise<Gateway> {
  if (variant === "straight") {
    const main = fileURLToPath(new URL("forward/index.ts", import.meta.url));
    return startWorkerd({ ...workerd, stateDir, main, vars: { ORIGIN: originUrl, IDEMPOTENCY: {}, ROUTES: [] } });
  }
  const bounds = { max_response_body: "200MiB", max_request_body: "90MiB" };
  const route = { path: "/*", duplicate: "attach", wait: "30s", ...bounds };
  return startWorkerd({ ...workerd, stateDir, vars: { IDEMPOTENCY: { origin: originUrl, shards }, ROUTES: [route] } });
}

async function measureMemory(originUrl: string): Promise<readonly MemoryRow[]> {
  const rows: MemoryRow[] = [];
  const scenarios = [...SCENARIOS, ...CROWDS].filter(({ name }) => name.includes(options.only ?? ""));
  const progress = new Progress("memory", scenarios.length, { unit: "scenarios" });
  for (const [done, scenario] of scenarios.entries()) {
    progress.show(done, scenario.name);
    rows.push(await measureOne(scenario, "gateway", originUrl));
    if (scenario.onlyGateway !== true) rows.push(await measureOne(scenario, "straight", originUrl));
  }
  progress.end();
  return rows;
}

function measureOne(scenario: Scenario, variant: Variant, originUrl: string): Promise<MemoryRow> {
  return withState(async (stateDir) => {
    const inspectorPort = await freePort();
    const gateway = await start(variant, originUrl, stateDir, { shards: scenario.shards ?? 64, inspectorPort });
    try {
      await exchange(gateway.url, { path: "/events" });
      const pid = findProcess(gateway.pid, "workerd");
      const baselineMib = residentMib(pid);
      let isolateMib = 0;
      const begun = performance.now();
      const peak = await watchMemory(pid, async () => {
        isolateMib = await watchIsolate(inspectorPort, () => scenario.run(gateway.url));
      });
      const seconds = (performance.now() - begun) / 1000;
      const mibPerSecond = scenario.bytes / MIB / seconds;
      return { scenario: scenario.name, variant, baselineMib, ...peak, isolateMib, seconds, mibPerSecond };
    } finally {
      await gateway.stop();
    }
  });
}

/** One connection that stays. */
function connection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 });
}

async function measureLatency(originUrl: string): Promise<readonly LatencyRow[]> {
  return withState(async (stateDir) => {
    const gateway = await start("gateway", originUrl, join(stateDir, "gateway"), { shards: 64 });
    const straight = await start("straight", originUrl, join(stateDir, "straight"), { shards: 64 });
    try {
      const paths = [
        { path: "origin alone", url: originUrl, times: [] as number[], agent: connection() },
        { path: "straight", url: straight.url, times: [] as number[], agent: connection() },
        { path: "gateway", url: gateway.url, times: [] as number[], agent: connection() },
      ];
      const warmUp = Math.ceil(ROUNDS / 3);
      const progress = new Progress("time to the first byte", warmUp + ROUNDS, { unit: "rounds" });
      for (let round = -warmUp; round < ROUNDS; round++) {
        progress.show(round + warmUp);
        // Interleaved, and each goes first in its turn.
        for (let at = 0; at < paths.length; at++) {
          const one = paths[(at + round + warmUp) % paths.length];
          if (one === undefined) continue;
          const { firstByteMs } = await exchange(one.url, { path: "/events", agent: one.agent });
          if (round >= 0) one.times.push(firstByteMs);
        }
      }
      progress.end();
      for (const { agent } of paths) agent.destroy();
      return paths.map(({ path, times }) => {
        const at = quantileOf(times);
        return { path, medianMs: median(times), lowMs: at(0.05), highMs: at(0.95) };
      });
    } finally {
      await Promise.all([gateway.stop(), straight.stop()]);
    }
  });
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const [head, ...body] = rows.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  return [head, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body].join("\n");
}

const source = fork(fileURLToPath(new URL("stream-source.ts", import.meta.url)), [], { execArgv: [] });
const [message]: unknown[] = await once(source, "message");
try {
  const originUrl = String(message);
  const memory = await measureMemory(originUrl);
  const latency = options.only === undefined ? await measureLatency(originUrl) : [];
  const round = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
  console.log(
    `State on ${options.tmpfs === true ? "tmpfs" : "disk"}. Peak memory in MiB: of the isolate, then of the process.\n`,
  );
  console.log(
    table([
      ["scenario", "through", "isolate", "before", "peak", "anonymous", "median", "seconds", "MiB/s"],
      ...memory.map((row) => [
        row.scenario,
        row.variant,
        ...[row.isolateMib, row.baselineMib, row.peakMib, row.anonymousMib, row.medianMib].map(round),
        ...[row.seconds, row.mibPerSecond].map(round),
      ]),
    ]),
  );
  const straightMs = latency.find(({ path }) => path === "straight")?.medianMs ?? Number.NaN;
  console.log(`\nTime to the first byte of a stream, ${ROUNDS} interleaved rounds.\n`);
  console.log(
    table([
      ["path", "median ms", "5 % to 95 %", "of straight"],
      ...latency.map(({ path, medianMs, lowMs, highMs }) => [
        path,
        medianMs.toFixed(2),
        `${lowMs.toFixed(2)} to ${highMs.toFixed(2)}`,
        `${(medianMs / straightMs).toFixed(2)}x`,
      ]),
    ]),
  );
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ memory, latency }, null, 2)}\n`);
} finally {
  source.disconnect();
}
