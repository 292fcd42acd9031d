// The steps of the broker, its producers and its dead letters.

import type { Choices } from "../../../simulation/choices.ts";
import type { Plan } from "../../../simulation/plan.ts";
import type { World } from "../../../simulation/world.ts";
import type { Broker } from "./broker.ts";
import { POISON } from "../../../simulation/origin.ts";

/** These steps end in the state in which a step of another kind begins. */
export const KINDS = ["message", "batch", "report", "letter"] as const;
export const FAULTS = ["report lost", "delivered early", "letter lost"] as const;
export type DeliveryKind = (typeof KINDS)[number] | (typeof FAULTS)[number];

export function isDelivery(kind: string): kind is DeliveryKind {
  return [...KINDS, ...FAULTS].some((one) => one === kind);
}

export class DeliverySteps {
  readonly #broker: Broker;
  readonly #choices: Choices;
  readonly #plan: Plan;

  constructor(broker: Broker, choices: Choices, { plan }: World) {
    this.#broker = broker;
    this.#choices = choices;
    this.#plan = plan;
  }

  isPossible(kind: DeliveryKind): boolean {
    const { messages, batches, letters } = this.#broker;
    switch (kind) {
      case "message":
        return messages.length < this.#plan.requests;
      case "batch":
        return this.#broker.deliverable().length > 0;
      case "delivered early":
        return this.#broker.deliverable(true).length > 0;
      case "report":
      case "report lost":
        return batches.some(({ isDone }) => isDone);
      case "letter":
      case "letter lost":
        return letters.length > 0;
    }
  }

  do(kind: DeliveryKind): void {
    const { trace } = this.#choices;
    switch (kind) {
      case "message": {
        const key = `r${this.#choices.choose(this.#plan.records)}`;
        const drawn = this.#choices.choose(6);
        const isPoison = drawn === 1 && this.#plan.extras.has("poison");
        const content = isPoison ? POISON : drawn === 0 ? "other" : "same";
        trace(`message m${this.#broker.messages.length + 1} for ${key}: ${content}`);
        this.#broker.send(key, content);
        return;
      }
      case "batch":
      case "delivered early": {
        const first = this.#choices.pick(this.#broker.deliverable(kind === "delivered early"));
        // In any order, and not all of them.
        const others = this.#broker.deliverable().filter((one) => one !== first && this.#choices.choose(2) === 0);
        const all = [first, ...others];
        trace(`${kind}: ${all.map(({ id, deliveries }) => `${id} (${deliveries + 1})`).join(", ")}`);
        this.#broker.deliver(all);
        return;
      }
      case "report":
      case "report lost": {
        const batch = this.#choices.pick(this.#broker.batches.filter(({ isDone }) => isDone));
        const said = [...batch.decisions].map(([{ id }, one]) => `${id} ${one === "ack" ? one : one.afterMs}`);
        trace(`${kind}: ${said.join(", ")}`);
        this.#broker.report(batch, kind === "report lost");
        return;
      }
      case "letter": {
        const letter = this.#choices.pick(this.#broker.letters);
        trace(`the letter of ${letter.messageId} (${letter.reason}) arrives`);
        this.#broker.settle(letter, { isTaken: true, isHeard: true });
        return;
      }
      case "letter lost": {
        const letter = this.#choices.pick(this.#broker.letters);
        const isTaken = this.#choices.choose(2) === 0;
        trace(`the letter of ${letter.messageId} is lost${isTaken ? " for its sender" : ""}`);
        this.#broker.settle(letter, { isTaken, isHeard: false });
      }
    }
  }
}
