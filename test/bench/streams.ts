// Measures what large and streamed bodies cost: the peak memory of the gateway's process, and the time to the first byte of
// a stream, beside a Worker that only forwards, in the same run. `node test/bench/streams.ts [--short] [--tmpfs] [--json FILE]`

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Gateway, startWorkerd } from "../support/gateway.ts";
import { freshKey } from "../support/http.ts";
import { findProcess, median, type Peak, residentMib, watchMemory } from "./process-memory.ts";

const { values: options } = parseArgs({
  options: { short: { type: "boolean" }, tmpfs: { type: "boolean" }, json: { type: "string" } },
});
const short = options.short === true;
const MIB = 1 << 20;
const SIZES = short
  ? { response: 20, upload: 10, many: 10, each: 4, attached: 8, rounds: 40 }
  : { response: 100, upload: 50, many: 50, each: 20, attached: 20, rounds: 300 };

type Variant = "gateway" | "straight";

interface MemoryRow extends Peak {
  readonly scenario: string;
  readonly variant: Variant;
  readonly baselineMib: number;
  readonly seconds: number;
  readonly mibPerSecond: number;
}

interface LatencyRow {
  readonly path: string;
  readonly medianMs: number;
  readonly lowMs: number;
  readonly highMs: number;
}

interface Scenario {
  readonly name: string;
  readonly bytes: number;
  readonly onlyGateway?: boolean;
  readonly shards?: number;
  run(url: string): Promise<void>;
}

interface Exchange {
  readonly path: string;
  readonly key?: string;
  readonly upload?: number;
  /** Nothing is read before this. */
  readonly after?: Promise<unknown>;
  readonly agent?: Agent;
}

interface Timed {
  readonly bytes: number;
  readonly firstByteMs: number;
}

/** One request, read to its end. Throws where its answer is not a whole 200. */
async function exchange(url: string, { path, key = freshKey(), upload = 2, after, agent }: Exchange): Promise<Timed> {
  const begun = performance.now();
  const outgoing = httpRequest(url + path, {
    method: "POST",
    headers: { "idempotency-key": key, "content-type": "application/json", "content-length": upload },
    agent: agent ?? false,
  });
  const answered: Promise<IncomingMessage> = new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
  });
  const piece = Buffer.alloc(Math.min(upload, 64 * 1024), "1");
  for (let left = upload; left > 0; left -= piece.length) {
    if (!outgoing.write(piece.subarray(0, left))) await once(outgoing, "drain");
  }
  outgoing.end();
  const response = await answered;
  await after;
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${await text(response)}`);
  let bytes = 0;
  let firstByteMs = Number.NaN;
  for await (const chunk of response) {
    if (bytes === 0) firstByteMs = performance.now() - begun;
    bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
  }
  if (!response.complete) throw new Error(`${path}: the body broke off`);
  return { bytes, firstByteMs };
}

async function download(url: string, mebibytes: number, more: Partial<Exchange> = {}): Promise<void> {
  const { bytes } = await exchange(url, { path: `/bytes?size=${mebibytes * MIB}`, ...more });
  if (bytes !== mebibytes * MIB) throw new Error(`${bytes} bytes came`);
}

async function many(url: string): Promise<void> {
  await Promise.all(Array.from({ length: SIZES.many }, () => download(url, SIZES.each)));
}

/** Ten duplicates that follow one stream; one of them begins to read when all others are done. */
async function attached(url: string): Promise<void> {
  const key = freshKey();
  const path = `/bytes?size=${SIZES.attached * MIB}`;
  const read = (after?: Promise<unknown>): Promise<Timed> => exchange(url, { path, key, ...(after && { after }) });
  const first = read();
  const others = Array.from({ length: 9 }, () => read());
  const slow = read(Promise.all([first, ...others]));
  for (const { bytes } of await Promise.all([first, ...others, slow])) {
    if (bytes !== SIZES.attached * MIB) throw new Error(`${bytes} bytes came`);
  }
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: `one response of ${SIZES.response} MiB`,
    bytes: SIZES.response * MIB,
    run: (url) => download(url, SIZES.response),
  },
  {
    name: `one upload of ${SIZES.upload} MiB`,
    bytes: SIZES.upload * MIB,
    run: async (url) => void (await exchange(url, { path: "/upload", upload: SIZES.upload * MIB })),
  },
  {
    name: `${SIZES.many} at once, ${SIZES.each} MiB each`,
    bytes: SIZES.many * SIZES.each * MIB,
    run: (url) => many(url),
  },
  {
    name: `${SIZES.many} at once, one shard`,
    bytes: SIZES.many * SIZES.each * MIB,
    onlyGateway: true,
    shards: 1,
    run: (url) => many(url),
  },
  {
    name: `10 attached to one of ${SIZES.attached} MiB`,
    bytes: 11 * SIZES.attached * MIB,
    onlyGateway: true,
    run: attached,
  },
];

async function withState<T>(use: (stateDir: string) => Promise<T>): Promise<T> {
  const stateDir = await mkdtemp(join(options.tmpfs === true ? "/dev/shm" : tmpdir(), "onceway-bench-"));
  try {
    return await use(stateDir);
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

function start(variant: Variant, originUrl: string, stateDir: string, shards: number): Promise<Gateway> {
  if (variant === "straight") {
    const main = fileURLToPath(new URL("forward/index.ts", import.meta.url));
    return startWorkerd({ stateDir, main, vars: { ORIGIN: originUrl, IDEMPOTENCY: {}, ROUTES: [] } });
  }
  const bounds = { max_response_body: "200MiB", max_request_body: "90MiB" };
  const route = { path: "/*", duplicate: "attach", wait: "30s", ...bounds };
  return startWorkerd({ stateDir, vars: { IDEMPOTENCY: { origin: originUrl, shards }, ROUTES: [route] } });
}

async function measureMemory(originUrl: string): Promise<readonly MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const scenario of SCENARIOS) {
    for (const variant of ["gateway", "straight"] as const) {
      if (variant === "straight" && scenario.onlyGateway === true) continue;
      rows.push(
        await withState(async (stateDir) => {
          const gateway = await start(variant, originUrl, stateDir, scenario.shards ?? 64);
          try {
            await exchange(gateway.url, { path: "/events" });
            const pid = findProcess(gateway.pid, "workerd");
            const baselineMib = residentMib(pid);
            const begun = performance.now();
            const peak = await watchMemory(pid, () => scenario.run(gateway.url));
            const seconds = (performance.now() - begun) / 1000;
            const mibPerSecond = scenario.bytes / MIB / seconds;
            return { scenario: scenario.name, variant, baselineMib, ...peak, seconds, mibPerSecond };
          } finally {
            await gateway.stop();
          }
        }),
      );
    }
  }
  return rows;
}

/** One connection that stays. */
function connection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 });
}

async function measureLatency(originUrl: string): Promise<readonly LatencyRow[]> {
  return withState(async (stateDir) => {
    const gateway = await start("gateway", originUrl, join(stateDir, "gateway"), 64);
    const straight = await start("straight", originUrl, join(stateDir, "straight"), 64);
    try {
      const paths = [
        { path: "origin alone", url: originUrl, times: [] as number[], agent: connection() },
        { path: "straight", url: straight.url, times: [] as number[], agent: connection() },
        { path: "gateway", url: gateway.url, times: [] as number[], agent: connection() },
      ];
      const warmUp = Math.ceil(SIZES.rounds / 3);
      for (let round = -warmUp; round < SIZES.rounds; round++) {
        // Interleaved, and each goes first in its turn.
        for (let at = 0; at < paths.length; at++) {
          const one = paths[(at + round + warmUp) % paths.length];
          if (one === undefined) continue;
          const { firstByteMs } = await exchange(one.url, { path: "/events", agent: one.agent });
          if (round >= 0) one.times.push(firstByteMs);
        }
      }
      for (const { agent } of paths) agent.destroy();
      return paths.map(({ path, times }) => {
        const sorted = times.toSorted((a, b) => a - b);
        const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
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
  const latency = await measureLatency(originUrl);
  const round = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
  console.log(`State on ${options.tmpfs === true ? "tmpfs" : "disk"}. Memory of the workerd process in MiB.\n`);
  console.log(
    table([
      ["scenario", "through", "before", "peak", "anonymous", "median", "seconds", "MiB/s"],
      ...memory.map((row) => [
        row.scenario,
        row.variant,
        ...[row.baselineMib, row.peakMib, row.anonymousMib, row.medianMib, row.seconds, row.mibPerSecond].map(round),
      ]),
    ]),
  );
  const straightMs = latency.find(({ path }) => path === "straight")?.medianMs ?? Number.NaN;
  console.log(`\nTime to the first byte of a stream, ${SIZES.rounds} interleaved rounds.\n`);
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
