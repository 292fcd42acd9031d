// The rounds: every variant once in each, in turn, so that whatever else the machine does meets all of them alike; and the
// ratios between variants of the same round.

import { Progress } from "../support/progress.ts";
import { processorMicroseconds } from "./processes.ts";
import type { Variant } from "./variants.ts";
import { runWrk } from "./wrk.ts";

export interface Sample {
  readonly variant: string;
  readonly connections: number;
  readonly round: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The latency of the slowest request. */
  readonly longestMs: number;
  /** Processor time of the variant's processes. */
  readonly microsecondsPerRequest: number;
  readonly requests: number;
  /** Requests with another kind of answer than the variant's. */
  readonly failed: number;
}

export interface Plan {
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
  /**
   * How long each variant runs before the rounds. With less than 12 s its code is still being compiled, and what makes it faster
   * looks worthless (measured).
   */
  readonly warmUpSeconds: number;
}

export async function runRounds(
  variants: readonly Variant[],
  { connections, rounds, seconds, warmUpSeconds }: Plan,
): Promise<readonly Sample[]> {
  const able = variants.filter(({ leastConnections }) => leastConnections <= connections);
  const samples: Sample[] = [];
  const label = `${connections} connection${connections === 1 ? "" : "s"}`;
  const loads = rounds + (warmUpSeconds > 0 ? 1 : 0);
  const progress = new Progress(label, loads * able.length, { unit: "loads" });
  let done = 0;
  for (let round = rounds - loads + 1; round <= rounds; round += 1) {
    // Each goes first in its turn.
    for (let at = 0; at < able.length; at += 1) {
      const variant = able[(at + round) % able.length];
      if (variant === undefined) continue;
      const sample = await measure(variant, connections, round, round === 0 ? warmUpSeconds : seconds);
      done += 1;
      progress.show(done, `${variant.name} ${sample.perSecond.toFixed(0)}/s`);
      if (round > 0) samples.push(sample);
    }
  }
  progress.end();
  return samples;
}

/** All variants at once in each round. */
export async function measureAtOnce(variants: readonly Variant[], plan: Plan): Promise<readonly Sample[]> {
  const { connections, rounds, seconds, warmUpSeconds } = plan;
  const progress = new Progress(`${variants.length} at once`, rounds, { unit: "rounds" });
  const samples: Sample[] = [];
  for (let round = warmUpSeconds > 0 ? 0 : 1; round <= rounds; round += 1) {
    const length = round === 0 ? warmUpSeconds : seconds;
    const all = await Promise.all(variants.map((one) => measure(one, connections, round, length)));
    progress.show(round, "");
    if (round > 0) samples.push(...all);
  }
  progress.end();
  return samples;
}

/** Where the next run over known keys goes on: a key comes again only when all others have had their turn. */
const nextKeys = new Map<Variant, number>();

async function measure(variant: Variant, connections: number, round: number, seconds: number): Promise<Sample> {
  const { name, url, path, keys, body, prefer, pids, succeeds, meanwhile } = variant;
  const prefix = variant.prefix ?? `${name.replaceAll(/[^a-z]/gi, "")}-${connections}-${round}-`;
  const from = nextKeys.get(variant) ?? 0;
  const end = meanwhile?.();
  const before = processorMicroseconds(pids);
  const figures = await runWrk({ url, path, keys, from, prefix, body, prefer, connections, seconds });
  const spent = processorMicroseconds(pids) - before;
  await end?.();
  const { requests, not2xx, broken, p50Ms, p99Ms, longestMs } = figures;
  // Also those that were sent, and not answered in time.
  nextKeys.set(variant, from + requests + connections);
  const failed = broken + (succeeds ? not2xx : requests - not2xx);
  const perSecond = requests / figures.seconds;
  return {
    variant: name,
    connections,
    round,
    perSecond,
    p50Ms,
    p99Ms,
    longestMs,
    microsecondsPerRequest: spent / requests,
    requests,
    failed,
  };
}

export type Metric = "perSecond" | "p50Ms" | "p99Ms" | "longestMs" | "microsecondsPerRequest";

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

export function spreadOf(values: readonly number[]): Spread | null {
  return values.length === 0 ? null : { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function samplesOf(samples: readonly Sample[], variant: string, connections: number): readonly Sample[] {
  return samples.filter((sample) => sample.variant === variant && sample.connections === connections);
}

export interface RatioOf {
  readonly name: string;
  readonly of: string;
  readonly to: string;
  readonly metric: Metric;
  readonly connections: number;
  /** What the project wants of it. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** One quotient for each round in which both were measured. */
export function ratio(samples: readonly Sample[], { of, to, metric, connections }: RatioOf): Spread | null {
  const others = samplesOf(samples, to, connections);
  const quotients = samplesOf(samples, of, connections).flatMap((one) => {
    const other = others.find(({ round }) => round === one.round);
    return other === undefined ? [] : [one[metric] / other[metric]];
  });
  return spreadOf(quotients);
}
