// A broker that promises at-least-once, and the gateway's own consumer before it. A message may be in several batches at a time and
// come in any order; what the consumer has decided about a batch may be lost, and so may dead letters and their answers.

import { type ConsumeBatch, type DeliveredMessage, queueConsumer } from "../../../../src/features/queues/consume.ts";
import { reportOf } from "../../../../src/features/queues/delivery-report.ts";
import { ExchangeReporter } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { TrafficCounters } from "../../../../src/kernel/traffic/traffic.ts";
import type { Taker } from "../../../simulation/clients.ts";
import { deliveredResponse } from "../../../simulation/stand-ins.ts";
import type { World } from "../../../simulation/world.ts";
import { CREDENTIAL, QUEUE, queueFor, simulated } from "./queue.ts";
import type { DeliveryRules } from "./rules.ts";

/** A second of the broker is so long here, so that messages come back while their records live. */
const SECOND_MS = 10;

export interface Message {
  readonly id: string;
  readonly key: string;
  readonly content: string;
  readonly sentMs: number;
  /** How often it has been delivered. */
  deliveries: number;
  visibleMs: number;
  /** The broker has heard that it is settled. */
  isOver: boolean;
}

type Decision = "ack" | { readonly afterMs: number };

/** Messages that the consumer has got together. */
export interface Batch {
  readonly decisions: Map<Message, Decision>;
  readonly messages: readonly Message[];
  /** Whether its consumer is done with it. */
  isDone: boolean;
}

/** A dead letter on its way. */
export interface Letter {
  readonly messageId: string;
  readonly reason: string;
  readonly answer: PromiseWithResolvers<void>;
}

export class Broker {
  messages: Message[] = [];
  batches: Batch[] = [];
  letters: Letter[] = [];
  readonly #world: World;
  readonly #rules: DeliveryRules;
  readonly #consume: ConsumeBatch;

  constructor(world: World, rules: DeliveryRules) {
    this.#world = world;
    this.#rules = rules;
    this.#consume = queueConsumer([queueFor(world.plan)], {
      deliver: (_route, exchanges) =>
        exchanges.map(async ({ head, body }) => {
          const response = await this.#callShard(simulated(world.plan, head), body);
          return response === null ? null : reportOf(response);
        }),
      deadLetterQueue: () => ({ send: (letter) => this.#post(letter) }),
      reportAlert: () => Promise.resolve(),
      secret: () => null,
      reporter: new ExchangeReporter("worker", new TrafficCounters()),
      flush: () => undefined,
    });
  }

  /** A producer sends a message. */
  send(key: string, content: string): void {
    const { nowMs } = this.#world.clock;
    const id = `m${this.messages.length + 1}`;
    this.messages.push({ id, key, content, sentMs: nowMs, deliveries: 0, visibleMs: nowMs, isOver: false });
  }

  /** Those that may be delivered now; `isEarly`: those that are being processed, or are to come later, too. */
  deliverable(isEarly = false): readonly Message[] {
    const { nowMs } = this.#world.clock;
    const busy = new Set(this.batches.flatMap(({ messages }) => messages));
    const isFree = (message: Message): boolean => message.visibleMs <= nowMs && !busy.has(message);
    return this.messages.filter((message) => !message.isOver && (isEarly || isFree(message)));
  }

  deliver(messages: readonly Message[]): void {
    const batch: Batch = { decisions: new Map(), messages, isDone: false };
    this.batches.push(batch);
    for (const message of messages) message.deliveries += 1;
    const delivered = messages.map((message) => this.#delivered(message, batch));
    void this.#process(batch, delivered);
  }

  async #process(batch: Batch, messages: readonly DeliveredMessage[]): Promise<void> {
    await this.#consume({ queue: QUEUE, messages });
    batch.isDone = true;
  }

  #delivered(message: Message, { decisions }: Batch): DeliveredMessage {
    const { id, key, content, sentMs, deliveries } = message;
    // The first decision counts.
    const decide = (decision: Decision): boolean =>
      !decisions.has(message) && decisions.set(message, decision).size > 0;
    return {
      id,
      timestamp: new Date(sentMs),
      attempts: deliveries,
      body: { key, content },
      ack: () => {
        if (decide("ack")) this.#rules.acknowledges(message);
      },
      retry: ({ delaySeconds }) => void decide({ afterMs: delaySeconds * SECOND_MS }),
    };
  }

  /** The broker hears what was decided about a batch; `isLost`: it does not, and delivers all of it again. */
  report(batch: Batch, isLost: boolean): void {
    this.batches = this.batches.filter((one) => one !== batch);
    const { nowMs } = this.#world.clock;
    for (const message of batch.messages) {
      const decision = isLost ? undefined : batch.decisions.get(message);
      if (decision === "ack") message.isOver = true;
      else message.visibleMs = nowMs + (decision?.afterMs ?? 0);
    }
  }

  /** A letter arrives or not, and its sender hears of that or not. */
  settle(letter: Letter, { isTaken, isHeard }: { readonly isTaken: boolean; readonly isHeard: boolean }): void {
    this.letters = this.letters.filter((one) => one !== letter);
    if (isTaken) this.#rules.takes(letter, this.messages);
    if (isHeard) letter.answer.resolve();
    else letter.answer.reject(new Error("the queue for dead letters fails"));
  }

  #post(letter: string): Promise<void> {
    const { data }: { readonly data: { readonly messageId: string; readonly reason: string } } = JSON.parse(letter);
    const answer = Promise.withResolvers<void>();
    this.letters.push({ messageId: data.messageId, reason: data.reason, answer });
    return answer.promise;
  }

  /** Nobody could be asked if the object is lost before it answers. */
  #callShard(head: ReturnType<typeof simulated>, body: Uint8Array): Promise<Response | null> {
    const given = Promise.withResolvers<Response | null>();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    // Its reader may be gone.
    const ignore = (): void => undefined;
    const taker: Taker = {
      hears: (response, isWhole) => given.resolve(deliveredResponse(response, isWhole ? null : readable)),
      reads: (bytes) => void writer.write(bytes.slice()).catch(ignore),
      ends: (isWhole) => {
        given.resolve(null);
        (isWhole ? writer.close() : writer.abort(new Error("the object is lost"))).catch(ignore);
      },
    };
    this.#world.deliver(head, CREDENTIAL, { taker, content: new TextDecoder().decode(body) });
    return given.promise;
  }
}

/** The body with which a message reaches the origin. */
export function bodyOf({ key, content }: Pick<Message, "key" | "content">): string {
  return JSON.stringify({ key, content });
}
