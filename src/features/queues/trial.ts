// A trial of a queue: gives its consumer one message twice, as a queue does whose first acknowledgement is lost. Everything is
// real: the call to the origin, the record, a dead letter. Only the message has come from an operator instead of the queue.

import type { Queue } from "../../kernel/config/resolved.ts";
import type { DeadReason, DeliveryDecision } from "../../kernel/record/delivery.ts";
import type { RecordId } from "../../kernel/record/units.ts";
import { type ConsumerPorts, type HandledDelivery, QueueConsumer } from "./consume.ts";
import { bodyOf } from "./queue-message.ts";

/** The platform's limit. */
export const MAX_MESSAGE_BYTES = 128_000;

/** What was decided about one delivery, and why. */
export interface TriedDelivery {
  readonly decision: DeliveryDecision;
  /** Why the message became a dead letter. */
  readonly reason: DeadReason | null;
  /** When the queue would deliver it again. */
  readonly afterMs: number | null;
  /** How its shard calls the answer: `first`, `replayed` or a problem's code, for example; `null` when it did not answer. */
  readonly answer: string | null;
  /** The status of the origin's answer, first or replayed. */
  readonly status: number | null;
}

export type QueueTrialOutcome =
  | {
      readonly kind: "tried";
      readonly messageId: string;
      readonly recordId: RecordId;
      /** In the order in which they were made. */
      readonly deliveries: readonly TriedDelivery[];
    }
  /** Nothing was done: `queues` are those that the configuration has. */
  | { readonly kind: "no-queue"; readonly queues: readonly string[] }
  /** Nothing was done, because the queue's consumer would not send such a message to the origin. */
  | { readonly kind: "unusable"; readonly why: "message-invalid" | "key-missing" | "too-large" };

/** `body` is a value that a queue can deliver. `by` is for the log. */
export type TryQueue = (queue: string, body: unknown, by: string) => Promise<QueueTrialOutcome>;

/** A queue counts from 1. */
const DELIVERIES = [1, 2];

export function queueTrials(queues: readonly Queue[], ports: ConsumerPorts): TryQueue {
  return async (name, body, by) => {
    const queue = queues.find((one) => one.queue === name);
    if (queue === undefined) return { kind: "no-queue", queues: queues.map((one) => one.queue) };
    const consumer = new QueueConsumer(queue, ports);
    const message = { id: crypto.randomUUID(), timestamp: new Date(), body };
    const bytes = bodyOf({ ...message, attempts: 1 })?.bytes.byteLength ?? 0;
    if (bytes > MAX_MESSAGE_BYTES) return { kind: "unusable", why: "too-large" };
    const read = await consumer.read({ ...message, attempts: 1 });
    if (read.kind === "dead") return { kind: "unusable", why: read.reason };
    const recordId = read.exchange.head.record.id;
    console.warn({ message: "queue tried", queue: name, messageId: message.id, recordId, by });
    const deliveries: TriedDelivery[] = [];
    for (const attempts of DELIVERIES) {
      // Nothing is waiting for its acknowledgement.
      const delivered = { ...message, attempts, ack: () => undefined, retry: () => undefined };
      deliveries.push(...(await consumer.handleAll([delivered])).map(triedDelivery));
    }
    ports.flush();
    return { kind: "tried", messageId: message.id, recordId, deliveries };
  };
}

function triedDelivery({ decision, isOver, answer, word }: HandledDelivery): TriedDelivery {
  return {
    decision: isOver ? decision.kind : "retry",
    reason: decision.kind === "dead" ? decision.reason : null,
    afterMs: decision.kind === "retry" ? Math.round(decision.afterMs) : null,
    answer: word,
    status: answer?.kind === "answer" ? answer.status : null,
  };
}
