// How many instructions a process executes for a request, by Valgrind's count (callgrind). What else the machine does changes none of them, so
// half a per cent shows where a comparison of times needs hours. The kernel's own instructions are not among them, and a request takes fifty
// times as long as usual.
// `npm run bench -- instructions [--only NAME,NAME] [--beside DIR] [--requests N] [--warm-up N] [--save DIR]`
// `--save` keeps callgrind's files, which `callgrind_annotate --inclusive=yes` shows by function.

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { startWorkerd } from "../support/gateway.ts";
import { showPhase } from "../support/progress.ts";
import { type Origin, startOrigin } from "./processes.ts";
import { post } from "./requests-of-load.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "straight,floor,first,replay cold,unprotected" },
    beside: { type: "string" },
    requests: { type: "string", default: "600" },
    "warm-up": { type: "string", default: "5000" },
    save: { type: "string" },
  },
});

interface Contestant {
  readonly name: string;
  readonly path: string;
  /** As many keys in turn; `null`: each request has its own. */
  readonly keys: number | null;
  readonly main: string | null;
}

const COLD_KEYS = 4096;

const ALL: readonly Contestant[] = [
  { name: "straight", path: "/v1/payments", keys: null, main: ownFile("forward/index.ts") },
  { name: "floor", path: "/v1/payments", keys: null, main: ownFile("floor/index.ts") },
  { name: "first", path: "/v1/payments", keys: null, main: null },
  { name: "replay cold", path: "/v1/payments", keys: COLD_KEYS, main: null },
  { name: "unprotected", path: "/open/payments", keys: null, main: null },
  { name: "observed", path: "/observed/payments", keys: null, main: null }, // feature: observe
];

function ownFile(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

const execute = promisify(execFile);
const callgrind = (...args: readonly string[]): Promise<unknown> => execute("callgrind_control", args);

interface Count {
  /** All, in thousands for each request. */
  readonly total: number;
  /** Those of V8's collections on the main thread, and those of its other threads, which compile and collect. */
  readonly collecting: number;
  readonly beside: number;
}

/** Starts nothing that a client waits for: all of it is between two dumps of callgrind. */
async function countOf({ name, path, keys, main }: Contestant, origin: Origin, folder: string): Promise<Count> {
  const counts = join(folder, "callgrind.out");
  await mkdir(folder, { recursive: true });
  const requests = Number(options.requests);
  const warmUp = Math.max(Number(options["warm-up"]), keys ?? 0);
  const flags = [
    "--tool=callgrind",
    "--smc-check=all-non-file",
    "--instr-atstart=no",
    `--callgrind-out-file=${counts}`,
  ];
  const gateway = await startWorkerd({
    stateDir: join(folder, "state"),
    // One object, which is in use all the time: the runtime drops one that gets nothing for ten seconds.
    vars: {
      ORIGIN: origin.url,
      SHARDS: 1,
      IDEMPOTENCY: { origin: origin.url, shards: 1 },
      ROUTES: [
        { path: "/v1/*" },
        { path: "/observed/*", mode: "observe", observe: { effect: "/id" } }, // feature: observe
      ],
    },
    under: ["valgrind", ...flags],
    ...(main === null ? null : { main }),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let sent = 0;
  const send = async (times: number): Promise<void> => {
    for (let left = times; left > 0; left -= 1) {
      const status = await post(agent, gateway.url + path, `key${keys === null ? sent : sent % keys}`);
      if (status !== 201) throw new Error(`${name}: ${status}`);
      sent += 1;
    }
  };
  try {
    const pid = String(gateway.pid);
    await showPhase(`${name}, warm up`, warmUp / 30, () => send(warmUp));
    await callgrind("-i", "on", pid);
    await send(50);
    await callgrind("-z", pid);
    await showPhase(`${name}, count`, requests / 10, () => send(requests));
    await callgrind("-d", pid);
  } finally {
    agent.destroy();
    await gateway.stop();
  }
  return readCount(`${counts}.1`, requests);
}

async function readCount(file: string, requests: number): Promise<Count> {
  const { stdout } = await execute("callgrind_annotate", ["--inclusive=yes", "--threshold=100", file], {
    maxBuffer: 256 << 20,
  });
  const most = (what: string): number => {
    const lines = stdout.split("\n").filter((line) => line.includes(what));
    return Math.max(0, ...lines.map((line) => Number(line.trim().split(" ", 1)[0]?.replaceAll(",", ""))));
  };
  const thousands = (what: string): number => Math.round(most(what) / requests / 1000);
  return {
    total: thousands("PROGRAM TOTALS"),
    collecting: thousands("v8::internal::Heap::CollectGarbage("),
    beside: thousands("JobTaskWrapper::Run("),
  };
}

const chosen = new Set(options.only.split(","));
const folder = await mkdtemp(join(tmpdir(), "onceway-instructions-"));
const origin = await startOrigin();
try {
  const before = options.beside === undefined ? null : join(resolve(options.beside), "src/index.ts");
  const contestants = ALL.filter(({ name }) => chosen.has(name)).flatMap((one) =>
    before === null || one.main !== null ? [one] : [{ ...one, name: `${one.name} before`, main: before }, one],
  );
  console.log("| thousand instructions per request | all | of them collecting | in other threads | the rest |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const [at, contestant] of contestants.entries()) {
    const { total, collecting, beside } = await countOf(contestant, origin, join(folder, String(at)));
    console.log(`| ${[contestant.name, total, collecting, beside, total - collecting - beside].join(" | ")} |`);
    if (options.save === undefined) continue;
    await mkdir(options.save, { recursive: true });
    const kept = join(options.save, `callgrind.out.${contestant.name.replaceAll(" ", "-")}`);
    await cp(join(folder, String(at), "callgrind.out.1"), kept);
  }
} finally {
  origin.stop();
  await rm(folder, { recursive: true, force: true });
}
