// The memory of a process as Linux reports it (proc(5)), in MiB: its peak since `reset`, and the present value.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setInterval as every } from "node:timers";
import { median } from "./quantiles.ts";

export interface Peak {
  /** VmHWM: the most that was resident at once. */
  readonly peakMib: number;
  /** The most of it that was not files, by sampling. */
  readonly anonymousMib: number;
  /** The median of the samples. */
  readonly medianMib: number;
}

const SAMPLE_MS = 20;

/** The process named `name` that is `pid` or descends from it. */
export function findProcess(pid: number, name: string): number {
  if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() === name) return pid;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean);
    for (const child of children) return findProcess(Number(child), name);
  }
  throw new Error(`no ${name} under process ${pid}`);
}

export function residentMib(pid: number): number {
  return field(pid, "VmRSS");
}

/** Watches a process while `run` runs. */
export async function watchMemory(pid: number, run: () => Promise<void>): Promise<Peak> {
  // Sets the peak back to what is resident now.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const samples: number[] = [];
  let anonymousMib = 0;
  const timer = every(() => {
    samples.push(residentMib(pid));
    anonymousMib = Math.max(anonymousMib, field(pid, "RssAnon"));
  }, SAMPLE_MS);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  return { peakMib: field(pid, "VmHWM"), anonymousMib, medianMib: median(samples) };
}

function field(pid: number, name: string): number {
  const line = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1]) / 1024;
}
