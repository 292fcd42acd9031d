// The steps of consumers: they claim, claim again, extend, complete and release, several keys at a time, and read where to go on.

import type { ClaimAct } from "../../../../src/features/claims/message.ts";
import type { Choices } from "../../../simulation/choices.ts";
import type { Plan } from "../../../simulation/plan.ts";
import { LOCK_MS } from "../../../simulation/times.ts";
import type { ClaimKind } from "./kinds.ts";
import { claimOf, type Consumers, type Try } from "./consumers.ts";

/** How many messages a consumer works on at a time. */
const MOST_TOGETHER = 3;

export class ClaimSteps {
  readonly #consumers: Consumers;
  readonly #choices: Choices;
  readonly #plan: Plan;

  constructor(consumers: Consumers, choices: Choices, plan: Plan) {
    this.#consumers = consumers;
    this.#choices = choices;
    this.#plan = plan;
  }

  isPossible(kind: ClaimKind): boolean {
    const { tries } = this.#consumers;
    if (kind === "claim") return tries.length < this.#plan.requests;
    return kind === "position" ? this.#plan.hasPositions : tries.length > 0;
  }

  do(kind: ClaimKind): void {
    const { trace } = this.#choices;
    if (kind === "position") {
      trace(`the group goes on at ${this.#consumers.readPosition()}`);
      return;
    }
    const tries = kind === "claim" ? this.#new() : this.#some();
    trace(`${kind}: ${tries.map(({ id, key }) => `${id} for ${key}`).join(", ")}`);
    this.#consumers.send(tries, (one) => this.#actOf(kind, one));
  }

  #new(): readonly Try[] {
    return Array.from({ length: 1 + this.#choices.choose(MOST_TOGETHER) }, () => {
      const key = `r${this.#choices.choose(this.#plan.records)}`;
      const print = this.#choices.choose(12) === 0 ? "other" : "same";
      return this.#consumers.begin(key, print, this.#choices.pick([LOCK_MS, LOCK_MS, 2 * LOCK_MS]));
    });
  }

  /** Any of those that were ever made, and perhaps others with it. */
  #some(): readonly Try[] {
    const { tries } = this.#consumers;
    const first = this.#choices.pick(tries);
    const others = tries.filter((one) => one !== first && this.#choices.choose(tries.length) === 0);
    return [first, ...others.slice(0, MOST_TOGETHER - 1)];
  }

  #actOf(kind: Exclude<ClaimKind, "position">, one: Try): ClaimAct {
    switch (kind) {
      case "claim":
      case "claim again":
        return claimOf(one);
      case "extend":
        return { verb: "extend" };
      case "complete":
        return { verb: "complete", result: this.#choices.choose(4) === 0 ? null : JSON.stringify(one.id) };
      case "claim released":
        return { verb: "release", effect: this.#choices.pick(["none", "none", "unknown"] as const), reason: "chance" };
    }
  }
}
