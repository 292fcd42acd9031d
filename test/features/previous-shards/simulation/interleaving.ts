// One interleaving with several layouts from its seed: takes random steps, checks the rules after each, and in the end expects
// that every deployment is answered and that nothing is left.

import { type Exploration, exploreWith, type IsEnough, type Run } from "../../../simulation/explore.ts";
import type { Interleaving } from "../../../simulation/interleaving.ts";
import { follow, install } from "../../../simulation/platform.ts";
import { Random, SequenceHash } from "../../../simulation/random.ts";
import { freshDisk } from "../../../simulation/shard.ts";
import { Choices } from "../../../simulation/choices.ts";
import { calm } from "./calm.ts";
import { drawPlan, type Setting } from "./plan.ts";
import { Steps } from "./steps.ts";
import { Disks, World } from "./world.ts";

export function exploreLayouts(
  interleavings: number,
  seed: number,
  progress: (done: number) => void = () => undefined,
): Promise<Exploration> {
  const disks = new DiskPools();
  return exploreWith((one, counts) => runInterleaving(one, disks, counts), interleavings, seed, progress);
}

/** Explores until the first violation. */
export function findViolation(interleavings: number, seed: number, only: Setting | null = null): Promise<Exploration> {
  const disks = new DiskPools();
  const run: Run = (one, counts) => runInterleaving(one, disks, counts, () => undefined, only);
  const isFound: IsEnough = ({ length }) => length > 0;
  return exploreWith(run, interleavings, seed, () => undefined, isFound);
}

/** Repeats one interleaving and traces every step. */
export async function replayLayouts(seed: number, trace: (what: string) => void): Promise<Interleaving> {
  const uninstall = install();
  try {
    return await runInterleaving(seed, new DiskPools(), new Map(), trace);
  } finally {
    uninstall();
  }
}

/** Disks are emptied and used again, because making one takes longer than an interleaving. */
class DiskPools {
  readonly #withTriggers = new Disks(() => freshDisk());
  readonly #withoutTriggers = new Disks(() => freshDisk(false));

  with(hasTriggers: boolean): Disks {
    return hasTriggers ? this.#withTriggers : this.#withoutTriggers;
  }
}

async function runInterleaving(
  seed: number,
  pools: DiskPools,
  counts: Map<string, number>,
  trace: (what: string) => void = () => undefined,
  only: Setting | null = null,
): Promise<Interleaving> {
  const random = new Random(seed);
  const plan = drawPlan(random, only);
  const names = plan.deployments.map(({ name }) => name);
  trace(`unknown = "${plan.unknown}", ${plan.keys.length} key(s), deployments ${names.join(" and ")}`);
  const world = new World(plan, pools.with(plan.hasTriggers), trace);
  follow(world.clock);
  const hash = new SequenceHash();
  for (const char of `${plan.unknown} ${plan.keptBytes} ${plan.keys.join()} ${names.join()} ${plan.hasTriggers}`) {
    hash.add(char.charCodeAt(0));
  }
  const steps = new Steps(world, new Choices(random, hash, counts, trace));
  let taken = 0;
  while (taken < plan.steps && world.rules.violations.length === 0 && steps.take()) {
    taken += 1;
    await world.rest();
  }
  if (plan.endsCalmly && world.rules.violations.length === 0) await calm(world, trace);
  await world.rest();
  // Pending work must not continue in the next interleaving.
  for (const host of world.hosts.values()) world.crash(host);
  world.clients.crash();
  return { seed, violations: world.rules.violations, hash: hash.value, steps: taken };
}
