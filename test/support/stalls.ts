// A machine that stands still now and then, to find tests that a slow one would fail: with ONCEWAY_STALLS=800 each gateway of a
// test is stopped (SIGSTOP) for 800 ms at a time, with pauses of random length in between, and its origins take 800 ms longer for some
// requests, chosen at random.

import { setTimeout as pause } from "node:timers/promises";

const { ONCEWAY_STALLS } = process.env;
const STALL_MS = Number(ONCEWAY_STALLS ?? 0);
/** The part of the requests for which an origin takes longer. */
const STALLED_REQUESTS = 0.2;
/** Between two stops of a gateway, at least and at most. */
const PAUSE_MS = [500, 2_500] as const;

/** When a gateway of this process is stopped, and when it goes on. */
type Report = (from: number, to: number) => void;

const watchers = new Set<Report>();

/** For histories, whose checker has to know when a gateway could do nothing. Returns a function that stops watching. */
export function watchStalls(report: Report): () => void {
  // A function of its own for each watcher.
  const watcher: Report = (from, to) => report(from, to);
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

/** To be awaited by an origin before it answers. */
export async function stallSometimes(): Promise<void> {
  if (STALL_MS > 0 && Math.random() < STALLED_REQUESTS) await pause(STALL_MS);
}

/** Stops the process group now and then until the function that it returns is called; does nothing unless the variable is set. */
export function stallNowAndThen(pid: number): () => void {
  if (!(STALL_MS > 0)) return () => undefined;
  let timer = setTimeout(stop, pauseMs());
  function stop(): void {
    if (!signal(pid, "SIGSTOP")) return;
    const from = Date.now();
    // Also if a kill comes first.
    for (const report of watchers) report(from, from + STALL_MS);
    timer = setTimeout(() => goOn(from), STALL_MS);
    timer.unref();
  }
  function goOn(from: number): void {
    if (!signal(pid, "SIGCONT")) return;
    for (const report of watchers) report(from, Date.now());
    timer = setTimeout(stop, pauseMs());
    timer.unref();
  }
  timer.unref();
  return () => {
    clearTimeout(timer);
    signal(pid, "SIGCONT");
  };
}

function pauseMs(): number {
  const [least, most] = PAUSE_MS;
  return least + Math.random() * (most - least);
}

/** False when no process of the group is left. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, name);
    return true;
  } catch {
    return false;
  }
}
