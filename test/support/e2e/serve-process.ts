// `npm run serve` as a user starts it: the process, its output, its exit code, and the workerd that it started. Processes that
// still use a test's folder at the end of the test are killed one by one.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "smol-toml";
import type { VariableValue } from "../../../src/serve/workerd-config.ts";
import { gatewayMain, projectCompatibility, projectDir } from "../wrangler.ts";
import { until } from "./guarantees-client.ts";

const START_MS = 60_000;

export interface ServeProcess {
  readonly pid: number;
  readonly output: () => string;
  /** The exit code; null where a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Its URL and workerd's process id, once it has printed them for the `times`th time. */
  readonly listening: (times?: number) => Promise<Listening>;
}

export interface Listening {
  readonly url: string;
  readonly workerd: number;
}

const folders = new Set<string>();

export function serve(args: readonly string[], env: Readonly<Record<string, string>> = {}): ServeProcess {
  const child = spawn(join(projectDir, "node_modules/.bin/node"), ["src/cli/onceway.ts", "serve", ...args], {
    cwd: projectDir,
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("serve has no pid");
  let output = "";
  let hasExited = false;
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code, signal) => {
      hasExited = true;
      // The workerd of a killed supervisor lives on and holds the output open.
      if (signal !== null) resolve(code);
    });
    // All that it printed has been read.
    child.once("close", (code) => resolve(code));
  });
  const announcements = (): readonly Listening[] =>
    [...output.matchAll(/listening on (\S+), .* workerd is process (\d+)/g)].map(([, url = "", workerd]) => ({
      url,
      workerd: Number(workerd),
    }));
  return {
    pid,
    output: () => output,
    exited,
    signal: (signal) => void child.kill(signal),
    async listening(times = 1) {
      const reported = await until(
        () => {
          if (hasExited) throw new Error(`serve has ended:\n${output}`);
          return Promise.resolve(announcements());
        },
        (list) => list.length >= times,
        START_MS,
      );
      const last = reported[times - 1];
      if (last === undefined) throw new Error("nothing told");
      return last;
    },
  };
}

/** Kills processes that still use a folder of this test, and erases the folders. For `afterEach`. */
export async function cleanUp(): Promise<void> {
  // Finds them by their command lines, because a workerd whose supervisor was killed during the start has not printed its id.
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if ([...folders].some((folder) => commandLine.includes(`${folder}/`))) killNow(Number(pid));
  }
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  folders.clear();
}

export function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // ESRCH: it has ended already.
  }
}

/** A folder with a `wrangler.toml` as a user writes it, with `vars` and other tables. */
export async function writeDeployment(config: Readonly<Record<string, VariableValue>>): Promise<Deployment> {
  const dir = await mkdtemp(join(tmpdir(), "onceway-serve-"));
  folders.add(dir);
  const { date, flags } = projectCompatibility();
  const toml = {
    name: "onceway",
    main: gatewayMain,
    compatibility_date: date,
    compatibility_flags: flags,
    durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["KeyShard"] }],
    ...config,
  };
  const path = join(dir, "wrangler.toml");
  await writeFile(path, stringify(toml));
  const stateDir = join(dir, "state");
  return { dir, stateDir, args: ["--config", path, "--state", stateDir, "--port", "0"] };
}

export interface Deployment {
  readonly dir: string;
  readonly stateDir: string;
  readonly args: readonly string[];
}
