// A child process and everything that it starts, as one process group, which is killed by its id and never left behind. A
// small watcher outside the group kills it when the test process ends in any way, SIGKILL included.

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";

/** How long `stop` waits for a clean exit. */
const STOP_MS = 5_000;
const POLL_MS = 10;

export interface ProcessGroup {
  readonly pid: number;
  /** All of stdout and stderr so far. */
  readonly output: () => string;
  readonly hasExited: () => boolean;
  /** Resolves when the leader is gone. */
  readonly exited: Promise<void>;
  /** SIGKILL to every member. */
  readonly kill9: () => Promise<void>;
  /** SIGTERM to every member, SIGKILL after five seconds. Resolves when all are gone: `npx` ends before the program that it runs. */
  readonly stop: () => Promise<void>;
}

const running = new Set<number>();
process.on("exit", () => {
  for (const pid of running) signalGroup(pid, "SIGKILL");
});

export interface SpawnOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Called with each piece of its output as it comes. */
  readonly onOutput?: (text: string) => void;
}

export async function spawnGroup(
  command: string,
  args: readonly string[],
  { onOutput = () => undefined, ...options }: SpawnOptions,
): Promise<ProcessGroup> {
  const child = spawn(command, args, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} has no pid`);
  running.add(pid);
  const watcher = watch(pid);

  let output = "";
  const collect = (bytes: Buffer): void => {
    const text = bytes.toString();
    output += text;
    onOutput(text);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);

  let hasExited = false;
  let isStopping = false;
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => {
      hasExited = true;
      // When the leader dies, its children must not stay behind.
      if (!isStopping) signalGroup(pid, "SIGKILL");
      running.delete(pid);
      watcher.kill("SIGKILL");
      resolve();
    });
  });

  return {
    pid,
    output: () => output,
    hasExited: () => hasExited,
    exited,
    async kill9() {
      if (!hasExited) signalGroup(pid, "SIGKILL");
      await exited;
    },
    async stop() {
      isStopping = true;
      if (!hasExited) signalGroup(pid, "SIGTERM");
      const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), STOP_MS);
      const giveUpAt = Date.now() + STOP_MS;
      await exited;
      // A member that nobody reaps counts as one that is left.
      while (Date.now() < giveUpAt && signalGroup(pid, 0)) await pause(POLL_MS);
      clearTimeout(timer);
      signalGroup(pid, "SIGKILL");
    },
  };
}

/** The watcher's standard input ends with this process; then the watcher kills the group. */
function watch(pid: number): ChildProcess {
  const watcher = spawn("/bin/sh", ["-c", `read -r _; kill -s KILL -- -${pid}`], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  return watcher;
}

/** Returns whether any process is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    // ESRCH: no process is left.
    return false;
  }
}
