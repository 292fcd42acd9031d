// The actors of the outbox: destinations of events, and operators who send events again or drop them.

import type { ObjectFeature, ObjectKernel } from "../../../../src/kernel/object-feature.ts";
import type { EventPublication } from "../../../../src/kernel/record/outbox.ts";
import { OUTBOX_CALLS } from "../../../../src/features/outbox/object/outbox-calls.ts";
import { deadLetterBinding } from "../../../../src/features/outbox/object/dead-letters.ts";
import { outboxObject } from "../../../../src/features/outbox/object/feature.ts";
import { NOWHERE } from "../../../../src/features/outbox/object/target.ts";
import type { Actors, SimulatedFeature } from "../../../simulation/actors.ts";
import type { Choices } from "../../../simulation/choices.ts";
import type { DrawnPlan } from "../../../simulation/plan.ts";
import type { World } from "../../../simulation/world.ts";
import {
  ACCEPTED,
  BROKEN,
  Destinations,
  type EventCall,
  letterTarget,
  PUBLICATIONS,
  REFUSALS,
} from "./destinations.ts";
import { type EventRow, eventRows } from "./outbox-rows.ts";
import { EventRules } from "./rules.ts";

/** Results that publish events, and destinations that take and refuse them. */
const EXTRA = "events";

const KINDS = { event: 12, outbox: 2 };
const FAULTS = { "event lost": 3, "event hangs": 1 };
type EventKind = keyof typeof KINDS | keyof typeof FAULTS;

/** How many changes operators make. */
const MOST_CHANGES = 3;

export const outbox: SimulatedFeature = {
  extras: [EXTRA],
  kinds: KINDS,
  faults: FAULTS,
  plan: (drawn) => {
    const publish = publicationsOf(drawn);
    return publish.length > 0 ? { policy: { publish } } : {};
  },
  begin: (world) => new OutboxActors(world),
};

/** In three of seven interleavings. */
function publicationsOf({ steps, extras }: DrawnPlan): readonly EventPublication[] {
  return steps % 7 < 3 && extras.has(EXTRA) ? (PUBLICATIONS[steps % PUBLICATIONS.length] ?? []) : [];
}

class OutboxActors implements Actors<EventKind> {
  readonly #world: World;
  readonly #rules: EventRules;
  readonly #destinations: Destinations | null;
  #changes = 0;

  constructor(world: World) {
    this.#world = world;
    const { clock, facts, rules, disk } = world;
    const { drawn } = world.plan;
    const publications = publicationsOf(drawn);
    // One of them may take nothing, ever.
    const dead = drawn.steps % 4 === 1 ? "hook" : null;
    this.#rules = new EventRules(publications, clock, facts, rules);
    this.#destinations = publications.length > 0 ? new Destinations(dead, this.#rules, () => disk.written) : null;
  }

  isPossible(kind: EventKind): boolean {
    if (this.#destinations === null) return false;
    switch (kind) {
      case "event":
      case "event lost":
        return this.#answerable().length > 0;
      case "event hangs":
        return this.#hangable().length > 0;
      case "outbox":
        return this.#changes < MOST_CHANGES && eventRows(this.#world.disk).size > 0;
    }
  }

  /** The calls that a destination can answer. */
  #answerable(): readonly EventCall[] {
    return this.#destinations?.answerable ?? [];
  }

  #hangable(): readonly EventCall[] {
    return this.#answerable().filter(({ isHeard }) => isHeard);
  }

  do(kind: EventKind, choices: Choices): void {
    const destinations = this.#destinations;
    if (destinations === null) return;
    const { trace } = choices;
    switch (kind) {
      case "event": {
        const call = choices.pick(this.#answerable());
        const refuses = destinations.isDead(call) || choices.choose(2) === 0;
        const refusal = refuses ? choices.pick(REFUSALS) : null;
        trace(`${named(call)}: ${refusal === null ? "taken" : `${refusal.reason} (${refusal.scope})`}`);
        if (refusal === null) destinations.take(call);
        destinations.end(call, refusal ?? ACCEPTED);
        return;
      }
      case "event lost": {
        const call = choices.pick(this.#answerable());
        const isTaken = !destinations.isDead(call) && choices.choose(2) === 0;
        trace(`${named(call)}: the connection breaks${isTaken ? ", after it was taken" : ""}`);
        if (isTaken) destinations.take(call);
        destinations.end(call, BROKEN);
        return;
      }
      case "event hangs": {
        const call = choices.pick(this.#hangable());
        const isTaken = !destinations.isDead(call) && choices.choose(2) === 0;
        trace(`${named(call)}: no answer${isTaken ? ", although it was taken" : ""}`);
        if (isTaken) destinations.take(call);
        destinations.hang(call);
        return;
      }
      case "outbox": {
        this.#changes += 1;
        const row = choices.pick([...eventRows(this.#world.disk).values()]);
        const action = choices.pick(["resend", "resend", "drop"] as const);
        const isOne = choices.choose(2) === 0;
        const { destination, id } = row;
        trace(`an operator's ${action} of ${isOne ? id : "all"} for ${destination}`);
        this.#change(action, row, isOne);
      }
    }
  }

  /** An operator sends one event again or drops it, or all of its destination. */
  #change(action: "resend" | "drop", { id, destination }: EventRow, isOne: boolean): void {
    const { host, disk, trace } = this.#world;
    const before = eventRows(disk);
    const list = host.shard.askNow(OUTBOX_CALLS.list, { destination, state: null, after: null, limit: 100 }).events;
    const at = list.find((event) => event.id === id)?.at;
    const event = isOne && at !== undefined ? { id, at } : null;
    try {
      host.shard.askNow(OUTBOX_CALLS.change, { action, destination, state: null, event });
    } catch (error) {
      trace(`        refused: ${String(error)}`);
    }
    const after = eventRows(disk);
    const gone = [...before.values()].filter((row) => !after.has(row.event));
    this.#rules.drops(gone, host.name, disk.written);
  }

  readonly object = (kernel: ObjectKernel): ObjectFeature => {
    return outboxObject(kernel, {
      destination: (name) => {
        const binding = deadLetterBinding(name);
        return binding === null ? (this.#destinations?.target(name) ?? NOWHERE) : letterTarget(kernel.env[binding]);
      },
      receivers: () => [],
    });
  };

  left(): readonly string[] {
    const { disk } = this.#world;
    const isEmpty = !disk.hasTable("outbox") || disk.statement("SELECT 1 FROM outbox LIMIT 1").all().length === 0;
    return isEmpty ? [] : ["outbox"];
  }

  release(durable: number): void {
    this.#destinations?.release(durable);
  }

  rests(): void {
    if (this.#destinations !== null) this.#rules.rests(this.#world.disk, this.#destinations.open);
  }

  commits(): void {
    if (this.#destinations !== null) this.#rules.commits(this.#world.disk);
  }

  crash(): void {
    this.#destinations?.crash();
    this.#rules.crash();
  }

  corrects(): void {
    this.#rules.corrects();
  }

  timers(): number {
    return this.#destinations?.timers ?? 0;
  }

  /** Every destination takes what it is sent, but one that is dead. */
  settle(): boolean {
    const [call] = this.#answerable();
    if (this.#destinations === null || call === undefined) return false;
    const isTaken = !this.#destinations.isDead(call);
    const ids = call.events.map(({ id }) => id).join(", ");
    this.#world.trace(`${call.destination} ${isTaken ? "takes" : "refuses"} ${ids}`);
    if (isTaken) this.#destinations.take(call);
    this.#destinations.end(call, isTaken ? ACCEPTED : BROKEN);
    return true;
  }

  ends(): void {
    if (this.#destinations !== null) this.#rules.ends();
  }
}

function named({ destination, events }: EventCall): string {
  return `${events.map(({ id, tries }) => `${id} (${tries + 1})`).join(", ")} to ${destination}`;
}
