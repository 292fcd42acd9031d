// The origin's process, and the processor time of any process.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
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

/** Linux counts processor time in hundredths of a second (proc(5), USER_HZ). */
const TICK_MICROSECONDS = 10_000;

/** The processor time that the processes have taken so far, in user and in system mode. */
export function processorMicroseconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticksOf(pid) * TICK_MICROSECONDS, 0);
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may have spaces. After it, utime and stime are the 12th and the 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
