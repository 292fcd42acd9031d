// The queue consumer: sends each message of a batch to the shard that keeps its record, and acknowledges it when its record is
// completed or its dead letter is accepted (kernel/record/delivery.ts decides). Each message is decided by itself, whatever happens to
// the others.

import type { Queue, Route } from "../../kernel/config/resolved.ts";
import type { DeadLetterReport } from "../../kernel/record/alerts.ts";
import {
  type DeadReason,
  decideDelivery,
  type MessageDecision,
  type Delivery,
  type DeliveryDecision,
  deliveryPauseMs,
  type DeliveryAnswer,
} from "../../kernel/record/delivery.ts";
import { keyHashOf, type RecordId } from "../../kernel/record/units.ts";
import { deadLetter, type DeadLetterQueue } from "../outbox/dead-letter.ts";
import { type DeliveryReport, shardAnswerOf } from "./delivery-report.ts";
import { firstOf } from "../../kernel/request/first-of.ts";
import type { HeaderPairs } from "../../kernel/request/headers.ts";
import type { ExchangeRequest } from "../../kernel/request/message.ts";
import type { ExchangeReporter } from "../../kernel/traffic/exchange-reporter.ts";
import {
  bodyOf,
  configuredHeaders,
  messageFactsOf,
  type QueueMessage,
  type ReadMessage,
  readMessage,
} from "./queue-message.ts";

/** How long a queue may take for a dead letter, as for an event. */
const LETTER_MS = 20_000;

/** A message with the two ways to decide about it. If neither is called, the platform takes it as acknowledged. */
export interface DeliveredMessage extends QueueMessage {
  ack(): void;
  retry(options: { readonly delaySeconds: number }): void;
}

export interface DeliveredBatch {
  readonly queue: string;
  readonly messages: readonly DeliveredMessage[];
}

/** Runs exchanges in the shards that keep their records. One report for each, in their order; `null` when nobody could be asked. */
type Deliver = (route: Route, exchanges: readonly ExchangeRequest[]) => readonly Promise<DeliveryReport | null>[];

/** Whether the queue is one that the configuration lists. Otherwise nothing is done. */
export type ConsumeBatch = (batch: DeliveredBatch) => Promise<boolean>;

export interface ConsumerPorts {
  readonly deliver: Deliver;
  /** Where dead letters go; `null` when the binding does not exist. */
  readonly deadLetterQueue: (binding: string) => DeadLetterQueue | null;
  /** The value of a secret; `null` when it does not exist. */
  readonly secret: (name: string) => string | null;
  readonly reporter: ExchangeReporter;
  /** Tells operators of a dead letter. Never rejects. */
  readonly reportAlert: (report: DeadLetterReport) => Promise<void>;
  /**
   * Hands over what has been counted. Called after each batch: a batch lasts as long as anything that waits beside it, so its
   * acknowledgements would be late if the counts waited for others.
   */
  readonly flush: () => void;
}

export function queueConsumer(queues: readonly Queue[], ports: ConsumerPorts): ConsumeBatch {
  const consumers = new Map(queues.map((queue) => [queue.queue, new QueueConsumer(queue, ports)]));
  return async (batch) => {
    const consumer = consumers.get(batch.queue);
    if (consumer === undefined) return false;
    await consumer.handleAll(batch.messages);
    ports.flush();
    return true;
  };
}

/** What was decided about a delivery, for counts, logs and trials. */
export interface DecidedDelivery {
  readonly decision: MessageDecision;
  readonly recordId: RecordId | null;
  readonly answer: DeliveryAnswer | null;
  /** How the shard calls its answer: `first`, `replayed` or a problem's code, for example; `null` without one. */
  readonly word: string | null;
}

/** A delivery that has been handled. `isOver`: the message was acknowledged. */
export interface HandledDelivery extends DecidedDelivery {
  readonly isOver: boolean;
}

/** A message, and what is in it if it could be read now. Its age is that of this time, whatever is asked about it later. */
interface TriedRead {
  readonly message: DeliveredMessage;
  readonly delivery: Delivery;
  readonly read: ReadMessage | { readonly kind: "unread"; readonly reason: unknown };
}

export class QueueConsumer {
  readonly #queue: Queue;
  readonly #ports: ConsumerPorts;
  readonly #headers: HeaderPairs;

  constructor(queue: Queue, ports: ConsumerPorts) {
    this.#queue = queue;
    this.#ports = ports;
    this.#headers = configuredHeaders(queue, ports.secret);
  }

  /** Handles messages that have come together. */
  async handleAll(messages: readonly DeliveredMessage[]): Promise<readonly HandledDelivery[]> {
    const reads = await Promise.all(messages.map((message) => this.#tryRead(message)));
    const exchanges = reads.flatMap(({ read }) => (read.kind === "exchange" ? [read.exchange] : []));
    const reports = this.#ports.deliver(this.#queue.route, exchanges).values();
    return Promise.all(
      reads.map((tried) => this.#handle(tried, tried.read.kind === "exchange" ? reports.next().value : undefined)),
    );
  }

  /** Never rejects: a message without a decision would count as acknowledged, and a failed batch costs others their decisions. */
  async #handle(
    { message, delivery, read }: TriedRead,
    report: Promise<DeliveryReport | null> | undefined,
  ): Promise<HandledDelivery> {
    const retry: MessageDecision = { kind: "retry", afterMs: deliveryPauseMs(delivery) };
    let handled: DecidedDelivery = { decision: retry, recordId: null, answer: null, word: null };
    let isOver = false;
    try {
      handled = await this.#decide(read, report, delivery);
      const { decision, recordId } = handled;
      isOver =
        decision.kind === "ack" ||
        decision.kind === "park" ||
        (decision.kind === "dead" && (await this.#sendDeadLetter(message, decision, recordId)));
      if (isOver && decision.kind === "dead") {
        const { queue } = this.#queue;
        const { reason } = decision;
        await this.#ports.reportAlert({ alert: "dead-letter", queue, messageId: message.id, reason, recordId });
      }
    } catch (error) {
      const keyHash = read.kind === "exchange" ? keyHashOf(read.exchange.head.record.id) : null;
      console.error({ message: "delivery failed", queue: this.#queue.queue, keyHash, reason: String(error) });
    } finally {
      const { decision } = handled;
      if (isOver) message.ack();
      else message.retry({ delaySeconds: wholeSeconds(decision.kind === "retry" ? decision.afterMs : retry.afterMs) });
      this.#report(message, handled, isOver);
    }
    return { ...handled, isOver };
  }

  read(message: QueueMessage, { ageMs } = this.#deliveryOf(message)): Promise<ReadMessage> {
    return readMessage(this.#queue, message, this.#headers, ageMs);
  }

  /** What cannot be read for a reason of the gateway's own holds up no other message. */
  async #tryRead(message: DeliveredMessage): Promise<TriedRead> {
    const delivery = this.#deliveryOf(message);
    const read = await this.read(message, delivery).catch((reason: unknown) => ({ kind: "unread", reason }) as const);
    return { message, delivery, read };
  }

  #deliveryOf({ attempts, timestamp }: QueueMessage): Delivery {
    const { done, giveUpAfterMs, route } = this.#queue;
    const { unknown } = route.rules.policy;
    const ageMs = Date.now() - timestamp.getTime();
    return { attempts, ageMs, jitter: Math.random(), giveUpAfterMs, unknown, done };
  }

  async #decide(
    read: TriedRead["read"],
    coming: Promise<DeliveryReport | null> | undefined,
    delivery: Delivery,
  ): Promise<DecidedDelivery> {
    if (read.kind === "unread") throw read.reason;
    if (read.kind === "dead") {
      return {
        decision: { kind: "dead", reason: read.reason, status: null },
        recordId: null,
        answer: null,
        word: null,
      };
    }
    const report = (await coming) ?? null;
    const answer = shardAnswerOf(report, this.#queue.route.rules.lists);
    const { id } = read.exchange.head.record;
    return { decision: decideDelivery(answer, delivery), recordId: id, answer, word: report?.word ?? null };
  }

  /** Sends the dead letter. Whether the message is over: not if its body does not fit into the letter. */
  async #sendDeadLetter(
    message: QueueMessage,
    { reason, status }: Extract<MessageDecision, { kind: "dead" }>,
    recordId: RecordId | null,
  ): Promise<boolean> {
    const { queue, deadLetter: binding } = this.#queue;
    const letters = this.#ports.deadLetterQueue(binding);
    if (letters === null) throw new Error(`there is no queue binding ${binding}`);
    const body = bodyOf(message);
    const dead = { ...messageFactsOf(message, body), queue, reason, status, recordId, wasParked: false };
    const { letter, hasBody } = deadLetter(dead, body?.bytes ?? null, new Date());
    // A binding has no time limit of its own, and one call that hangs would keep the whole batch.
    const sent = letters.send(letter, { contentType: "text" }).then(() => true);
    if ((await firstOf(sent, LETTER_MS)) === null)
      throw new Error(`${binding} has not answered within ${LETTER_MS / 1000} s`);
    return hasBody || body === null;
  }

  #report(message: QueueMessage, { decision, recordId, answer }: DecidedDelivery, isOver: boolean): void {
    const { queue, route } = this.#queue;
    const made: DeliveryDecision = isOver ? decision.kind : "retry";
    const reason: DeadReason | null = isOver && decision.kind === "dead" ? decision.reason : null;
    this.#ports.reporter.delivered(route.path, made, reason);
    if (made === "ack" || route.log === "none") return;
    const line = JSON.stringify({
      message: "delivery",
      queue,
      messageId: message.id,
      keyHash: recordId === null ? null : keyHashOf(recordId),
      delivery: message.attempts,
      decision: made,
      reason: decision.kind === "dead" ? decision.reason : null,
      answer: answer === null ? null : textOf(answer),
      afterMs: decision.kind === "retry" ? Math.round(decision.afterMs) : null,
    });
    if (made === "dead") console.error(line);
    else console.warn(line);
  }
}

/** For the log. */
function textOf(answer: DeliveryAnswer): string | null {
  switch (answer.kind) {
    case "problem":
      return answer.code;
    case "answer":
      return String(answer.status);
    case "parked":
    case "nothing":
      return null;
  }
}

/** The platform counts whole seconds. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
