// Sends a replay every few milliseconds, whether or not the earlier ones have been answered, and reports the slowest: how long
// a shard is blocked by other work.

import { setInterval as every } from "node:timers";
import { grouped } from "../../support/progress.ts";
import { post } from "./post.ts";
import { quantileOf } from "../quantiles.ts";

const PERIOD_MS = 5;

export interface Probed {
  readonly sent: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** The longest delay of this process itself, which it cannot distinguish from the shard's. */
  readonly ownLagMs: number;
}

/** Probes while `run` runs. `key` has a record. */
export async function probeWhile(url: string, key: string, run: () => Promise<void>): Promise<Probed> {
  const times: number[] = [];
  const open = new Set<Promise<void>>();
  let failure: unknown = null;
  let due = performance.now() + PERIOD_MS;
  let ownLagMs = 0;
  const send = async (): Promise<void> => {
    try {
      const { ms, isReplay } = await post(url, key);
      if (!isReplay) throw new Error("a probe was no replay");
      times.push(ms);
    } catch (error) {
      failure = error;
    }
  };
  const timer = every(() => {
    const now = performance.now();
    ownLagMs = Math.max(ownLagMs, now - due);
    due = now + PERIOD_MS;
    const probe = send().finally(() => open.delete(probe));
    open.add(probe);
  }, PERIOD_MS);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  await Promise.all(open);
  if (failure !== null) throw new Error("a probe failed", { cause: failure });
  const at = quantileOf(times);
  return { sent: times.length, medianMs: at(0.5), p99Ms: at(0.99), longestMs: at(1), ownLagMs };
}

export function reported({ sent, medianMs, p99Ms, longestMs, ownLagMs }: Probed): string {
  const [median, p99, longest, lag] = [medianMs, p99Ms, longestMs, ownLagMs].map((ms) => ms.toFixed(1));
  return `${grouped(sent)} replays: median ${median} ms, 99 % within ${p99} ms, longest ${longest} ms (prober's own lag ${lag} ms)`;
}
