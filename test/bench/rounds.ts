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
  /** Whether there is a round before, which is thrown away. */
  readonly warmsUp: boolean;
}

export async function runRounds(
  variants: readonly Variant[],
  { connections, rounds, seconds, warmsUp }: Plan,
): Promise<readonly Sample[]> {
  const able = variants.filter(({ leastConnections }) => leastConnections <= connections);
  const samples: Sample[] = [];
  const label = `${connections} connection${connections === 1 ? "" : "s"}`;
  const progress = new Progress(label, (rounds + (warmsUp ? 1 : 0)) * able.length, { unit: "loads" });
  let done = 0;
  for (let round = warmsUp ? 0 : 1; round <= rounds; round += 1) {
    // Each goes first in its turn.
    for (let at = 0; at < able.length; at += 1) {
      const variant = able[(at + round) % able.length];
      if (variant === undefined) continue;
      const sample = await measure(variant, connections, round, seconds);
      done += 1;
      progress.show(done, `${variant.name} ${sample.perSecond.toFixed(0)}/s`);
      if (round > 0) samples.push(sample);
    }
  }
  progress.end();
  return samples;
}

async function measure(variant: Variant, connections: number, round: number, seconds: number): Promise<Sample> {
  const { name, url, path, keys, body, pids, succeeds } = variant;
  const prefix = variant.prefix ?? `${name.replaceAll(/[^a-z]/gi, "")}-${connections}-${round}-`;
  const before = processorMicroseconds(pids);
  const figures = await runWrk({ url, path, keys, prefix, body, connections, seconds });
  const spent = processorMicroseconds(pids) - before;
  const { requests, not2xx, broken, p50Ms, p99Ms } = figures;
  const failed = broken + (succeeds ? not2xx : requests - not2xx);
  const perSecond = requests / figures.seconds;
  return {
    variant: name,
    connections,
    round,
    perSecond,
    p50Ms,
    p99Ms,
    microsecondsPerRequest: spent / requests,
    requests,
    failed,
  };
}

export type Metric = "perSecond" | "p50Ms" | "p99Ms" | "microsecondsPerRequest";

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
