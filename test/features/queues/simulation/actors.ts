// The actors of queues: a broker with its producers, the gateway's own consumer, and the queue of dead letters.

import type { ObjectFeature, ObjectKernel } from "../../../../src/kernel/object-feature.ts";
import { queuesObject } from "../../../../src/features/queues/object/deliveries.ts";
import type { Actors, SimulatedFeature } from "../../../simulation/actors.ts";
import { alarm, settle } from "../../../simulation/calm.ts";
import type { Choices } from "../../../simulation/choices.ts";
import { POISON } from "../../../simulation/origin.ts";
import type { DrawnPlan } from "../../../simulation/plan.ts";
import type { World } from "../../../simulation/world.ts";
import { type Batch, Broker, type Message } from "./broker.ts";
import { LetterRules } from "./letters.ts";
import { DEAD_LETTERS } from "./queue.ts";
import { DeliveryRules } from "./rules.ts";

/** Messages of a queue instead of requests. */
const EXTRA = "deliveries";
/** Messages that the origin never takes. */
const POISON_EXTRA = "poison";

/** These steps end in the state in which a step of another kind begins. */
const KINDS = { message: 8, batch: 8, report: 8, letter: 8 };
const FAULTS = { "report lost": 2, "delivered early": 2, "letter lost": 2 };
type DeliveryKind = keyof typeof KINDS | keyof typeof FAULTS;

/** More than it takes until every lock has ended, every question has been asked, and an alarm that failed has been repeated after 5 s. */
const MOST_DELIVERIES = 1200;

export const queues: SimulatedFeature = {
  extras: [EXTRA, POISON_EXTRA],
  kinds: KINDS,
  faults: FAULTS,
  plan: (drawn) =>
    consumes(drawn)
      ? // What a broker knows of time has no right clock.
        { sendsRequests: false, jumps: false, steps: 2 * drawn.steps, streams: false, limitsKeys: false }
      : {},
  begin: (world) => new QueueActors(world),
};

function consumes({ steps, extras }: DrawnPlan): boolean {
  return steps % 5 === 2 && extras.has(EXTRA);
}

class QueueActors implements Actors<DeliveryKind> {
  readonly #world: World;
  readonly #deliveries: DeliveryRules;
  readonly #letters: LetterRules;
  readonly #broker: Broker | null;

  constructor(world: World) {
    this.#world = world;
    const { clock, facts, rules } = world;
    this.#deliveries = new DeliveryRules(clock, facts, rules);
    this.#letters = new LetterRules(facts, rules);
    this.#broker = consumes(world.plan.drawn) ? new Broker(world, this.#deliveries) : null;
  }

  isPossible(kind: DeliveryKind): boolean {
    if (this.#broker === null) return false;
    const { messages, batches, letters } = this.#broker;
    switch (kind) {
      case "message":
        return messages.length < this.#world.plan.requests;
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

  do(kind: DeliveryKind, choices: Choices): void {
    if (this.#broker === null) return;
    const { trace } = choices;
    const { plan } = this.#world;
    const broker = this.#broker;
    switch (kind) {
      case "message": {
        const key = `r${choices.choose(plan.records)}`;
        const drawn = choices.choose(6);
        const isPoison = drawn === 1 && plan.extras.has(POISON_EXTRA);
        const content = isPoison ? POISON : drawn === 0 ? "other" : "same";
        trace(`message m${broker.messages.length + 1} for ${key}: ${content}`);
        broker.send(key, content);
        return;
      }
      case "batch":
      case "delivered early": {
        const first = choices.pick(broker.deliverable(kind === "delivered early"));
        // In any order, and not all of them.
        const others = broker.deliverable().filter((one) => one !== first && choices.choose(2) === 0);
        const all = [first, ...others];
        trace(`${kind}: ${all.map(({ id, deliveries }) => `${id} (${deliveries + 1})`).join(", ")}`);
        broker.deliver(all);
        return;
      }
      case "report":
      case "report lost": {
        const batch = choices.pick(broker.batches.filter(({ isDone }) => isDone));
        trace(`${kind}: ${decisionsOf(batch)}`);
        broker.report(batch, kind === "report lost");
        return;
      }
      case "letter": {
        const letter = choices.pick(broker.letters);
        trace(`the letter of ${letter.messageId} (${letter.reason}) arrives`);
        broker.settle(letter, { isTaken: true, isHeard: true });
        return;
      }
      case "letter lost": {
        const letter = choices.pick(broker.letters);
        const isTaken = choices.choose(2) === 0;
        trace(`the letter of ${letter.messageId} is lost${isTaken ? " for its sender" : ""}`);
        broker.settle(letter, { isTaken, isHeard: false });
      }
    }
  }

  readonly object = (kernel: ObjectKernel): ObjectFeature => {
    return queuesObject(kernel);
  };

  get bindings(): Readonly<Record<string, unknown>> {
    return { [DEAD_LETTERS]: this.#letters.queue };
  }

  commits(): void {
    const { disk, facts } = this.#world;
    this.#deliveries.commits(facts.rows.values());
    this.#letters.commits(disk, facts.rows);
  }

  crash(): void {
    this.#letters.crash();
  }

  /** Whoever sends a dead letter waits with a timer of its own. */
  timers(): number {
    return this.#broker?.letters.length ?? 0;
  }

  times(): readonly number[] {
    return this.#open().map(({ visibleMs }) => visibleMs);
  }

  /** The messages that the broker has to deliver. */
  #open(): readonly Message[] {
    return this.#broker?.messages.filter(({ isOver }) => !isOver) ?? [];
  }

  /** The broker hears of what is done, and takes letters. */
  settle(): boolean {
    const { trace } = this.#world;
    const letter = this.#broker?.letters[0];
    const batch = this.#broker?.batches.find(({ isDone }) => isDone);
    if (letter !== undefined) {
      trace(`the letter of ${letter.messageId} (${letter.reason}) arrives`);
      this.#broker?.settle(letter, { isTaken: true, isHeard: true });
    } else if (batch !== undefined) {
      trace(`report: ${decisionsOf(batch)}`);
      this.#broker?.report(batch, false);
    }
    return letter !== undefined || batch !== undefined;
  }

  /** Each message comes again and again until it is settled. */
  async sendAgain(): Promise<void> {
    const broker = this.#broker;
    if (broker === null) return;
    const { clock, disk, trace } = this.#world;
    for (let steps = 0; this.#open().length > 0 && steps < MOST_DELIVERIES; steps++) {
      const [first] = this.#open().toSorted((one, other) => one.visibleMs - other.visibleMs);
      const toMs = Math.max(clock.nowMs, first?.visibleMs ?? 0);
      const { durableAlarmMs } = disk;
      if (durableAlarmMs !== null && durableAlarmMs <= toMs) await alarm(this.#world, durableAlarmMs);
      this.#world.moveTo(Math.max(clock.nowMs, toMs));
      const all = broker.deliverable();
      trace(`all messages that are due at ${toMs}: ${all.map(({ id }) => id).join(", ")}`);
      broker.deliver(all);
      await settle(this.#world);
    }
    this.#deliveries.ends(broker.messages);
  }

  ends(): void {
    this.#letters.ends();
  }
}

function decisionsOf({ decisions }: Batch): string {
  return [...decisions].map(([{ id }, one]) => `${id} ${one === "ack" ? one : one.afterMs}`).join(", ");
}
