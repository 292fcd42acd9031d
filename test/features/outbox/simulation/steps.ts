// The steps of destinations, and of operators who send events again or drop them.

import type { Choices } from "../../../simulation/choices.ts";
import type { World } from "../../../simulation/world.ts";
import { ACCEPTED, BROKEN, type Destinations, type EventCall, REFUSALS } from "./destinations.ts";
import { eventRows } from "./outbox-rows.ts";

export const KINDS = ["event", "outbox"] as const;
export const FAULTS = ["event lost", "event hangs"] as const;
export type EventKind = (typeof KINDS)[number] | (typeof FAULTS)[number];

export function isEvent(kind: string): kind is EventKind {
  return [...KINDS, ...FAULTS].some((one) => one === kind);
}

/** How many changes operators make. */
const MOST_CHANGES = 3;

export class EventSteps {
  readonly #destinations: Destinations;
  readonly #choices: Choices;
  readonly #world: World;
  #changes = 0;

  constructor(destinations: Destinations, choices: Choices, world: World) {
    this.#destinations = destinations;
    this.#choices = choices;
    this.#world = world;
  }

  isPossible(kind: EventKind): boolean {
    switch (kind) {
      case "event":
      case "event lost":
        return this.#destinations.answerable.length > 0;
      case "event hangs":
        return this.#hangable().length > 0;
      case "outbox":
        return this.#changes < MOST_CHANGES && eventRows(this.#world.disk).size > 0;
    }
  }

  #hangable(): readonly EventCall[] {
    return this.#destinations.answerable.filter(({ isHeard }) => isHeard);
  }

  do(kind: EventKind): void {
    const { trace } = this.#choices;
    switch (kind) {
      case "event": {
        const call = this.#choices.pick(this.#destinations.answerable);
        const refuses = this.#destinations.isDead(call) || this.#choices.choose(2) === 0;
        const refusal = refuses ? this.#choices.pick(REFUSALS) : null;
        trace(`${named(call)}: ${refusal === null ? "taken" : `${refusal.reason} (${refusal.scope})`}`);
        if (refusal === null) this.#destinations.take(call);
        this.#destinations.end(call, refusal ?? ACCEPTED);
        return;
      }
      case "event lost": {
        const call = this.#choices.pick(this.#destinations.answerable);
        const isTaken = !this.#destinations.isDead(call) && this.#choices.choose(2) === 0;
        trace(`${named(call)}: the connection breaks${isTaken ? ", after it was taken" : ""}`);
        if (isTaken) this.#destinations.take(call);
        this.#destinations.end(call, BROKEN);
        return;
      }
      case "event hangs": {
        const call = this.#choices.pick(this.#hangable());
        const isTaken = !this.#destinations.isDead(call) && this.#choices.choose(2) === 0;
        trace(`${named(call)}: no answer${isTaken ? ", although it was taken" : ""}`);
        if (isTaken) this.#destinations.take(call);
        this.#destinations.hang(call);
        return;
      }
      case "outbox": {
        this.#changes += 1;
        const row = this.#choices.pick([...eventRows(this.#world.disk).values()]);
        const action = this.#choices.pick(["resend", "resend", "drop"] as const);
        const isOne = this.#choices.choose(2) === 0;
        const { destination, id } = row;
        trace(`an operator's ${action} of ${isOne ? id : "all"} for ${destination}`);
        this.#world.changeEvents(action, row, isOne);
      }
    }
  }
}

function named({ destination, events }: EventCall): string {
  return `${events.map(({ id, tries }) => `${id} (${tries + 1})`).join(", ")} to ${destination}`;
}
