// The actors of claims: consumers that claim, claim again, extend, complete and release, several keys at a time, and read where to go on.

import type { ObjectFeature, ObjectKernel } from "../../../../src/kernel/object-feature.ts";
import type { OperatorChange } from "../../../../src/kernel/record/timeline.ts";
import type { ClaimAct } from "../../../../src/features/claims/claim-message.ts";
import { claimsObject } from "../../../../src/features/claims/object/consumer-calls.ts";
import type { Actors, SimulatedFeature } from "../../../simulation/actors.ts";
import type { Choices } from "../../../simulation/choices.ts";
import type { DrawnPlan } from "../../../simulation/plan.ts";
import { LOCK_MS } from "../../../simulation/times.ts";
import type { World } from "../../../simulation/world.ts";
import { claimOf, Consumers, type Try } from "./consumers.ts";
import { ClaimRules } from "./rules.ts";

/** Consumers that claim, instead of requests. */
const EXTRA = "claims";

const KINDS = { claim: 10, "claim again": 4, extend: 4, complete: 10, "claim released": 4, position: 3 };
type ClaimKind = keyof typeof KINDS;

/** How many messages a consumer works on at a time. */
const MOST_TOGETHER = 3;

export const claims: SimulatedFeature = {
  extras: [EXTRA],
  kinds: KINDS,
  faults: {},
  plan: (drawn) => (areClaimed(drawn) ? { ...OF_CONSUMERS, steps: 2 * drawn.steps } : {}),
  begin: (world) => new ClaimActors(world),
};

function areClaimed({ steps, extras }: DrawnPlan): boolean {
  return steps % 5 === 3 && extras.has(EXTRA);
}

/** The attempts are theirs, and what they know of time has no right clock. */
const OF_CONSUMERS: Partial<DrawnPlan> = {
  sendsRequests: false,
  makesAttempts: false,
  jumps: false,
  records: 4,
  requests: 9,
  streams: false,
  limitsKeys: false,
};

class ClaimActors implements Actors<ClaimKind> {
  readonly #world: World;
  readonly #rules: ClaimRules;
  readonly #consumers: Consumers | null;

  constructor(world: World) {
    this.#world = world;
    const { plan, clock, facts, rules } = world;
    this.#rules = new ClaimRules(plan, clock, facts, rules);
    const hasPositions = plan.drawn.requests > 2;
    this.#consumers = areClaimed(plan.drawn) ? new Consumers(world, this.#rules, hasPositions) : null;
  }

  isPossible(kind: ClaimKind): boolean {
    if (this.#consumers === null) return false;
    const { tries, hasPositions } = this.#consumers;
    if (kind === "claim") return tries.length < this.#world.plan.requests;
    return kind === "position" ? hasPositions : tries.length > 0;
  }

  do(kind: ClaimKind, choices: Choices): void {
    const consumers = this.#consumers;
    if (consumers === null) return;
    if (kind === "position") {
      choices.trace(`the group goes on at ${consumers.readPosition()}`);
      return;
    }
    const tries = kind === "claim" ? this.#new(consumers, choices) : some(consumers, choices);
    choices.trace(`${kind}: ${tries.map(({ id, key }) => `${id} for ${key}`).join(", ")}`);
    consumers.send(tries, (one) => actOf(kind, one, choices));
  }

  #new(consumers: Consumers, choices: Choices): readonly Try[] {
    return Array.from({ length: 1 + choices.choose(MOST_TOGETHER) }, () => {
      const key = `r${choices.choose(this.#world.plan.records)}`;
      const fingerprint = choices.choose(12) === 0 ? "other" : "same";
      return consumers.begin(key, fingerprint, choices.pick([LOCK_MS, LOCK_MS, 2 * LOCK_MS]));
    });
  }

  readonly object = (kernel: ObjectKernel): ObjectFeature => {
    return claimsObject(kernel);
  };

  decide(record: string, action: OperatorChange): string | null {
    return this.#consumers?.decide(record, action) ?? null;
  }

  commits(): void {
    if (this.#consumers !== null) this.#rules.commits(this.#world.disk, this.#world.facts.rows);
  }

  sendAnother(): boolean {
    this.#consumers?.send([this.#consumers.begin("r9", "same", 1)], claimOf);
    return this.#consumers !== null;
  }

  ends(): void {
    this.#consumers?.judge();
  }
}

/** Any of those that were ever made, and perhaps others with it. */
function some(consumers: Consumers, choices: Choices): readonly Try[] {
  const { tries } = consumers;
  const first = choices.pick(tries);
  const others = tries.filter((one) => one !== first && choices.choose(tries.length) === 0);
  return [first, ...others.slice(0, MOST_TOGETHER - 1)];
}

function actOf(kind: Exclude<ClaimKind, "position">, one: Try, choices: Choices): ClaimAct {
  switch (kind) {
    case "claim":
    case "claim again":
      return claimOf(one);
    case "extend":
      return { verb: "extend" };
    case "complete":
      return { verb: "complete", result: choices.choose(4) === 0 ? null : JSON.stringify(one.id) };
    case "claim released":
      return { verb: "release", effect: choices.pick(["none", "none", "unknown"] as const), reason: "chance" };
  }
}
