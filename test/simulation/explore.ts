// Runs many interleavings, one after the other, and counts what happened.

import { Disk } from "./disk.ts";
import { type Interleaving, runInterleaving } from "./interleaving.ts";
import { ALL_EXTRAS, type Extras, type Kind } from "./plan.ts";
import { install } from "./platform.ts";
import { seedOf } from "./random.ts";
import { Shard } from "./shard.ts";

export interface Exploration {
  readonly interleavings: number;
  /** How many differ in their choices from all others. */
  readonly distinct: number;
  readonly steps: number;
  readonly counts: ReadonlyMap<Kind, number>;
  readonly broken: readonly Interleaving[];
}

/** A few broken interleavings are enough to find a defect. */
const MOST_BROKEN = 5;

export async function explore(
  interleavings: number,
  seed: number,
  progress: (done: number) => void = () => undefined,
  extras: Extras = ALL_EXTRAS,
): Promise<Exploration> {
  const uninstall = install();
  const counts = new Map<Kind, number>();
  const hashes = new Set<number>();
  const broken: Interleaving[] = [];
  let steps = 0;
  let done = 0;
  try {
    const disk = freshDisk();
    while (done < interleavings && broken.length < MOST_BROKEN) {
      const one = await runInterleaving(seedOf(seed, done), disk, counts, extras);
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

/** A disk with the gateway's tables, all empty. */
function freshDisk(): Disk {
  const disk = new Disk();
  const nobody = new Shard({ disk, bucket: null, target: () => null, sync: () => Promise.resolve() });
  nobody.die();
  disk.commit();
  return disk;
}
