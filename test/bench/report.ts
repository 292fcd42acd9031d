// The figures as tables and as JSON.

import { RATIOS } from "./ratios.ts";
import { type Metric, ratio, type RatioOf, type Sample, samplesOf, type Spread, spreadOf } from "./rounds.ts";
import { BEFORE, type Variant } from "./variants.ts";
import type { VolumeFigures } from "./volume.ts";

export interface Row extends Record<Metric, Spread | null> {
  readonly variant: string;
  readonly connections: number;
  readonly failed: number;
  readonly requests: number;
}

/** In the order of `variants`, those with the most connections first. */
export function rowsOf(variants: readonly Pick<Variant, "name">[], samples: readonly Sample[]): readonly Row[] {
  const connections = [...new Set(samples.map((sample) => sample.connections))].toSorted((a, b) => b - a);
  return connections
    .flatMap((count) => variants.map(({ name }) => rowOf(samples, name, count)))
    .filter(({ requests }) => requests > 0);
}

function rowOf(samples: readonly Sample[], variant: string, connections: number): Row {
  const own = samplesOf(samples, variant, connections);
  const spread = (metric: Metric): Spread | null => spreadOf(own.map((sample) => sample[metric]));
  return {
    variant,
    connections,
    perSecond: spread("perSecond"),
    p50Ms: spread("p50Ms"),
    p99Ms: spread("p99Ms"),
    longestMs: spread("longestMs"),
    microsecondsPerRequest: spread("microsecondsPerRequest"),
    failed: own.reduce((sum, sample) => sum + sample.failed, 0),
    requests: own.reduce((sum, sample) => sum + sample.requests, 0),
  };
}

export interface Ratio {
  readonly name: string;
  readonly spread: Spread;
  readonly target: string;
  readonly isMet: boolean | null;
}

export function ratiosOf(samples: readonly Sample[]): readonly Ratio[] {
  return [...RATIOS, ...besideRatios(samples)].flatMap((one): Ratio[] => {
    const spread = ratio(samples, one);
    if (spread === null) return [];
    const { atLeast, atMost } = one;
    if (atLeast !== undefined) {
      return [{ name: one.name, spread, target: `at least ${atLeast}`, isMet: spread.median >= atLeast }];
    }
    if (atMost !== undefined) {
      return [{ name: one.name, spread, target: `at most ${atMost}`, isMet: spread.median <= atMost }];
    }
    return [{ name: one.name, spread, target: "", isMet: null }];
  });
}

/** This gateway against the one of another checkout. */
function besideRatios(samples: readonly Sample[]): readonly RatioOf[] {
  const names = new Set(samples.map(({ variant }) => variant));
  const both = [...names].filter((name) => names.has(name + BEFORE));
  return both.flatMap((of): RatioOf[] => {
    const to = of + BEFORE;
    return [
      { name: `${of} cpu vs before`, of, to, metric: "microsecondsPerRequest", connections: 16 },
      { name: `${of} vs before`, of, to, metric: "perSecond", connections: 16 },
      { name: `${of} p50 vs before`, of, to, metric: "p50Ms", connections: 1 },
    ];
  });
}

export function rowsTable(rows: readonly Row[]): string {
  return table([
    ["variant", "connections", "requests/s", "p50 ms", "p99 ms", "longest ms", "CPU µs/request", "failed"],
    ...rows.map((row) => [
      row.variant,
      String(row.connections),
      show(row.perSecond, 0),
      show(row.p50Ms, 2),
      show(row.p99Ms, 1),
      show(row.longestMs, 0),
      show(row.microsecondsPerRequest, 0),
      String(row.failed),
    ]),
  ]);
}

export function ratiosTable(ratios: readonly Ratio[]): string {
  return table([
    ["ratio", "median (range over rounds)", "target", ""],
    ...ratios.map(({ name, spread, target, isMet }) => [
      name,
      show(spread, 2),
      target,
      isMet === null ? "" : isMet ? "met" : "MISSED",
    ]),
  ]);
}

/** The keys of `ratios` are fixed; what this run did not measure is `null`. */
export function jsonOf(
  rows: readonly Row[],
  samples: readonly Sample[],
  volume: VolumeFigures | null,
  conditions: Readonly<Record<string, unknown>>,
): string {
  const reported = ratiosOf(samples);
  const medianOf = (name: string): number | null => reported.find((one) => one.name === name)?.spread.median ?? null;
  const replays = [medianOf("replay_hot_vs_straight"), medianOf("replay_cold_vs_straight")].filter(
    (one) => one !== null,
  );
  const ratios = {
    first_vs_straight: medianOf("first_vs_straight"),
    first_vs_floor: medianOf("first_vs_floor"),
    // The lesser of hot and cold.
    replay_vs_straight: replays.length === 0 ? null : Math.min(...replays),
    wait_vs_straight: medianOf("wait_vs_straight"),
    first_million_vs_thousand: volume?.firstMillionVsThousand ?? null,
    rows_per_key: volume?.rowsPerKey ?? null,
  };
  const details = { conditions, spreads: reported, rows, samples, volume };
  return `${JSON.stringify({ ratios, ...details }, null, 2)}\n`;
}

function show(spread: Spread | null, digits: number): string {
  if (spread === null) return "";
  const [middle, low, high] = [spread.median, spread.min, spread.max].map((value) => value.toFixed(digits));
  return `${middle} (${low}–${high})`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const [head, ...body] = rows.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  return [head, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body].join("\n");
}
