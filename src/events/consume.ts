// The queue consumer: sends each message of a batch to the shard that keeps its record, and acknowledges it when its record is
// completed or its dead letter is accepted (core/delivery.ts decides). Each message is decided by itself, whatever happens to
// the others.

import type { Queue, Route } from "../config/resolved.ts";
import {
  CONFIGURATION_RETRY_MS,
  type DeadReason,
  decideDelivery,
  type Decision,
  type Delivery,
  type DeliveryDecision,
  isProblemCode,
  pauseMs,
  type ShardAnswer,
} from "../core/delivery.ts";
import { keyHashOf, type RecordId } from "../core/units.ts";
import { judge } from "../core/verdict.ts";
import { type HeaderPairs, PARKED, STATUS_HEADER } from "../http/headers.ts";
import type { ExchangeRequest } from "../http/message.ts";
import { retryAfterIn } from "../http/retry-after.ts";
import type { ExchangeReporter } from "../traffic/exchange-reporter.ts";
import { deadLetter, type DeadLetterQueue } from "./dead-letter.ts";
import { bodyOf, type QueueMessage, readMessage } from "./message.ts";

/** A message with the two ways to decide about it. If neither is called, the platform takes it as acknowledged. */
export interface DeliveredMessage extends QueueMessage {
  ack(): void;
  retry(options: { readonly delaySeconds: number }): void;
}

export interface DeliveredBatch {
  readonly queue: string;
  readonly messages: readonly DeliveredMessage[];
  retryAll(options: { readonly delaySeconds: number }): void;
}

/** Runs an exchange in the shard that keeps its record; what else may come instead of its answer, `http/protect.ts` says. */
type AskShard = (route: Route, exchangeRequest: ExchangeRequest) => Promise<Response | "homeless" | null>;

export type Consume = (batch: DeliveredBatch) => Promise<void>;

export interface ConsumerPorts {
  readonly callShard: AskShard;
  /** Where dead letters go; `null` when the binding does not exist. */
  readonly deadLetterQueue: (binding: string) => DeadLetterQueue | null;
  /** The value of a secret; `null` when it does not exist. */
  readonly secret: (name: string) => string | null;
  readonly reporter: ExchangeReporter;
  /**
   * Hands over what has been counted. Called after each batch: a batch lasts as long as anything that waits beside it, so its
   * acknowledgements would be late if the counts waited for others.
   */
  readonly flush: () => void;
}

/** Retries whole batches, while the configuration cannot be used or does not know the queue. */
export const retryLater: Consume = async (batch) => {
  console.error({ message: "no configuration for this queue, its messages are retried", queue: batch.queue });
  batch.retryAll({ delaySeconds: CONFIGURATION_RETRY_MS / 1000 });
};

export function queueConsumer(queues: readonly Queue[], ports: ConsumerPorts): Consume {
  const consumers = new Map(queues.map((queue) => [queue.queue, new QueueConsumer(queue, ports)]));
  return async (batch) => {
    const consumer = consumers.get(batch.queue);
    if (consumer === undefined) await retryLater(batch);
    else await Promise.all(batch.messages.map((message) => consumer.handle(message)));
    ports.flush();
  };
}

/** What was decided about a delivery, for counts and logs. */
interface Handled {
  readonly decision: Decision;
  readonly recordId: RecordId | null;
  readonly answer: string | null;
}

class QueueConsumer {
  readonly #queue: Queue;
  readonly #ports: ConsumerPorts;
  readonly #headers: HeaderPairs;

  constructor(queue: Queue, ports: ConsumerPorts) {
    this.#queue = queue;
    this.#ports = ports;
    this.#headers = queue.callHeaders.map(({ name, value }) => [
      name,
      value.kind === "text" ? value.text : (ports.secret(value.secret) ?? ""),
    ]);
  }

  /** Never rejects: a message without a decision would count as acknowledged, and a failed batch costs others their decisions. */
  async handle(message: DeliveredMessage): Promise<void> {
    const delivery = this.#deliveryOf(message);
    const retry: Decision = { kind: "retry", afterMs: pauseMs(delivery) };
    let handled: Handled = { decision: retry, recordId: null, answer: null };
    let isOver = false;
    try {
      handled = await this.#ask(message, delivery);
      const { decision, recordId } = handled;
      isOver =
        decision.kind === "ack" ||
        decision.kind === "park" ||
        (decision.kind === "dead" && (await this.#sendDeadLetter(message, decision, recordId)));
    } catch (error) {
      console.error({ message: "delivery failed", queue: this.#queue.queue, reason: String(error) });
    } finally {
      const { decision } = handled;
      if (isOver) message.ack();
      else message.retry({ delaySeconds: wholeSeconds(decision.kind === "retry" ? decision.afterMs : retry.afterMs) });
      this.#report(message, handled, isOver);
    }
  }

  #deliveryOf({ attempts, timestamp }: QueueMessage): Delivery {
    const { done, giveUpAfterMs } = this.#queue;
    return { attempts, ageMs: Date.now() - timestamp.getTime(), jitter: Math.random(), giveUpAfterMs, done };
  }

  async #ask(message: QueueMessage, delivery: Delivery): Promise<Handled> {
    const read = await readMessage(this.#queue, message, this.#headers);
    if (read.kind === "dead") {
      return { decision: { kind: "dead", reason: read.reason, status: null }, recordId: null, answer: null };
    }
    const { exchange } = read;
    const { route } = this.#queue;
    const response = await this.#ports.callShard(route, exchange);
    const answer = await readShardAnswer(response, route.rules.lists);
    return { decision: decideDelivery(answer, delivery), recordId: exchange.head.record.id, answer: wordOf(answer) };
  }

  /** Sends the dead letter. Whether the message is over: not if its body does not fit into the letter. */
  async #sendDeadLetter(
    message: QueueMessage,
    { reason, status }: Extract<Decision, { kind: "dead" }>,
    recordId: RecordId | null,
  ): Promise<boolean> {
    const { queue, deadLetter: binding } = this.#queue;
    const letters = this.#ports.deadLetterQueue(binding);
    if (letters === null) throw new Error(`there is no queue binding ${binding}`);
    const body = bodyOf(message);
    const { letter, hasBody } = deadLetter(message, body, { queue, reason, status, recordId }, new Date());
    await letters.send(letter, { contentType: "json" });
    return hasBody || body === null;
  }

  #report(message: QueueMessage, { decision, recordId, answer }: Handled, isOver: boolean): void {
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
      answer,
      afterMs: decision.kind === "retry" ? Math.round(decision.afterMs) : null,
    });
    if (made === "dead") console.error(line);
    else console.warn(line);
  }
}

/** For the log. */
function wordOf(answer: ShardAnswer): string | null {
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

/** Reads the shard's answer to its end: the shard sends the end only when the result is durable. */
async function readShardAnswer(
  response: Awaited<ReturnType<AskShard>>,
  lists: Queue["route"]["rules"]["lists"],
): Promise<ShardAnswer> {
  if (response === null || response === "homeless") return { kind: "nothing" };
  const retryAfterMs = retryAfterIn(response.headers.get("retry-after"), Date.now());
  const word = response.headers.get(STATUS_HEADER);
  if (word === "first" || word === "replayed" || word === "attached") {
    const { status } = response;
    const verdict = judge({ kind: "answered", status }, lists);
    // A body that comes with 205 is not passed on, so the end of this answer says nothing about the end of the origin's.
    const showsEnd = status !== 205 || word === "replayed";
    return { kind: "answer", status, verdict, isWhole: (await readToEnd(response)) && showsEnd, retryAfterMs };
  }
  if (word === PARKED) return { kind: "parked" };
  const problem: unknown = await response.json();
  // A newer shard may have problems that this code does not know.
  if (word === null || !isProblemCode(word)) return { kind: "nothing" };
  return { kind: "problem", code: word, retryAfterMs, originalStatus: originalStatusIn(problem) };
}

async function readToEnd({ body }: Response): Promise<boolean> {
  if (body === null) return true;
  try {
    // Nothing reads the bytes.
    await body.pipeTo(new WritableStream());
    return true;
  } catch {
    return false;
  }
}

function originalStatusIn(problem: unknown): number | null {
  if (typeof problem !== "object" || problem === null || !("originalStatus" in problem)) return null;
  return typeof problem.originalStatus === "number" ? problem.originalStatus : null;
}
