// One interleaving from its seed: takes random steps, checks the rules after each, and in the end expects a state of rest.

import { calm } from "./calm.ts";
import { Choices } from "./choices.ts";
import type { Disk } from "./disk.ts";
import { drawPlan, type Extras } from "./plan.ts";
import { follow } from "./platform.ts";
import { Random, SequenceHash } from "./random.ts";
import { Steps } from "./steps.ts";
import { World } from "./world.ts";

export interface Interleaving {
  readonly seed: number;
  readonly violations: readonly string[];
  /** A hash of the choices that were made. */
  readonly hash: number;
  readonly steps: number;
}

/** Adds to `counts`. Needs the simulated globals (`install`). */
export async function runInterleaving(
  seed: number,
  disk: Disk,
  counts: Map<string, number>,
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
  const steps = new Steps(world, new Choices(random, hash, counts, trace));
  let taken = 0;
  while (taken < plan.steps && world.rules.violations.length === 0 && steps.take()) {
    taken += 1;
    await world.rest();
  }
  if (world.rules.violations.length === 0) await calm(world);
  await world.rest();
  // Pending work must not continue in the next interleaving.
  world.crash();
  return { seed, violations: world.rules.violations, hash: hash.value, steps: taken };
}
