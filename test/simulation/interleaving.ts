// One interleaving, from its seed: chance takes the steps, the rules judge each, and in the end everything must come to rest.

import { calm } from "./calm.ts";
import type { Disk } from "./disk.ts";
import { drawPlan, type Extras, type Kind } from "./plan.ts";
import { follow } from "./platform.ts";
import { Random, SequenceHash } from "./random.ts";
import { Steps } from "./steps.ts";
import { World } from "./world.ts";

export interface Interleaving {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Tells it from others by the choices that were made. */
  readonly hash: number;
  readonly steps: number;
}

/** `counts` is added to. The globals have to be the simulated ones (`install`). */
export async function runInterleaving(
  seed: number,
  disk: Disk,
  counts: Map<Kind, number>,
  extras: Extras,
  trace: (what: string) => void = () => undefined,
): Promise<Interleaving> {
  const random = new Random(seed);
  const plan = drawPlan(random, extras);
  trace(`unknown = "${plan.unknown}", ${plan.records} record(s), ${plan.keptBytes} bytes kept of a body`);
  const world = new World(plan, disk, trace);
  follow(world.clock);
  const hash = new SequenceHash();
  hash.add(plan.unknown.length);
  hash.add(plan.keptBytes);
  hash.add(plan.credentials);
  const steps = new Steps(world, random, hash, counts, trace);
  let taken = 0;
  while (taken < plan.steps && world.rules.violations.length === 0 && steps.take()) {
    taken += 1;
    await world.rest();
  }
  if (world.rules.violations.length === 0) await calm(world, trace);
  await world.rest();
  // What is still pending must not wake up in the next interleaving.
  world.crash();
  return { seed, violations: world.rules.violations, hash: hash.value, steps: taken };
}
