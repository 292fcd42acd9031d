// The origin's process, and the processor time of any process.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Origin {
  readonly url: string;
  stop(): void;
}

export async function startOrigin(): Promise<Origin> {
  const child = fork(fileURLToPath(new URL("fast-origin.ts", import.meta.url)), [], { execArgv: [] });
  const [url]: unknown[] = await once(child, "message");
  return { url: String(url), stop: () => child.disconnect() };
}

/** The processor time that the processes have taken so far, in user and in system mode. */
export function processorMicroseconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + nanosecondsOf(pid) / 1000, 0);
}

/**
 * By the scheduler's own account of each thread. The ticks in /proc/PID/stat are samples, a hundred a second, which makes them a
 * tenth wrong over three seconds.
 */
function nanosecondsOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.reduce((sum, task) => sum + Number(readSchedstat(pid, task).split(" ")[0]), 0);
}

/** Empty for a thread that has ended since. */
function readSchedstat(pid: number, task: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8");
  } catch {
    return "";
  }
}
