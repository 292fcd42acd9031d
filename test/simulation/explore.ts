// Runs many interleavings, one after the other, and counts what happened.

import { type Interleaving, runInterleaving } from "./interleaving.ts";
import { ALL_EXTRAS, type Extras } from "./plan.ts";
import { install } from "./platform.ts";
import { seedOf } from "./random.ts";
import { freshDisk } from "./shard.ts";

export interface Exploration {
  readonly interleavings: number;
  /** How many differ in their choices from all others. */
  readonly distinct: number;
  readonly steps: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly broken: readonly Interleaving[];
}

/** Whether what was found is enough, so that the exploration ends. */
export type IsEnough = (broken: readonly Interleaving[]) => boolean;

/** A few broken interleavings are enough to find a defect. */
export const isAFew: IsEnough = ({ length }) => length >= 5;

/** Runs one interleaving from its seed, and counts its steps by kind. */
export type Run = (seed: number, counts: Map<string, number>) => Promise<Interleaving>;

export function explore(
  interleavings: number,
  seed: number,
  progress: (done: number) => void = () => undefined,
  extras: Extras = ALL_EXTRAS,
  isEnough = isAFew,
): Promise<Exploration> {
  const disk = freshDisk();
  const run: Run = (one, counts) => runInterleaving(one, disk, counts, extras);
  return exploreWith(run, interleavings, seed, progress, isEnough);
}

export async function exploreWith(
  run: Run,
  interleavings: number,
  seed: number,
  progress: (done: number) => void,
  isEnough = isAFew,
): Promise<Exploration> {
  const uninstall = install();
  const counts = new Map<string, number>();
  const hashes = new Set<number>();
  const broken: Interleaving[] = [];
  let steps = 0;
  let done = 0;
  try {
    while (done < interleavings && !isEnough(broken)) {
      const one = await run(seedOf(seed, done), counts);
      done += 1;
      steps += one.steps;
      hashes.add(one.hash);
      if (one.violations.length > 0) broken.push(one);
      if (done % 1_000 === 0) progress(done);
    }
  } finally {
    uninstall();
  }
  return { interleavings: done, distinct: hashes.size, steps, counts, broken };
}

/** Repeats one interleaving and traces every step. */
export async function replay(
  seed: number,
  trace: (what: string) => void,
  extras: Extras = ALL_EXTRAS,
): Promise<Interleaving> {
  const uninstall = install();
  try {
    return await runInterleaving(seed, freshDisk(), new Map(), extras, trace);
  } finally {
    uninstall();
  }
}
