// Hand-made histories of one key of a queue: messages, their deliveries and dead letters. Times are milliseconds, as in story.ts.

import type { Arrival, DeadLetter, Decision, Delivery, HistoryEvent, Message, ParkedLook } from "../history.ts";
import { type QueueRule, queueOf } from "../../chaos/queues.ts";
import { came, decided, KEY, story } from "./story.ts";

/** The messages, deliveries, arrivals and decisions of one queue. */
export function queueStory(rule: QueueRule) {
  const { queue, path, scope } = queueOf(rule);
  return {
    sent(id: string, more: Partial<Message> = {}): Message {
      const content = { key: KEY, poison: null, fingerprint: "first", bytes: 50, bodySha256: "asked" } as const;
      return { type: "message", id, queue, path, scope, ...content, sentAt: 0, ...more };
    },
    /** What the origin got of the message's delivery, which it answered at once. */
    got(seq: number, delivery: string, at: number, more: Partial<Arrival> = {}): Arrival {
      return came(seq, delivery, at, { path, scope, credential: "Bearer queues", ...more });
    },
    changed(seq: number, action: Decision["action"], at: number, more: Partial<Decision> = {}): Decision {
      return decided(seq, action, at, { scope, ...more });
    },
    /** Written when it arrived. */
    died(message: string, reason: string, at: number, more: Partial<DeadLetter> = {}): DeadLetter {
      const said = { letter: `${queue}/${message}`, reason, status: null, writtenAt: at, messageSentAt: 0 };
      return { type: "dead-letter", message, ...said, bodySha256: "asked", at, ...more };
    },
  };
}

export function delivered(
  message: string,
  number: number,
  sentAt: number,
  endAt: number,
  outcome: Delivery["outcome"] = "acked",
): Delivery {
  return { type: "delivery", message, number, sentAt, endAt, outcome };
}

/** What records still keep at the end. */
export function stillParked(...keys: readonly string[]): ParkedLook {
  return { type: "parked", at: 20_000, keys, isReleased: true };
}

/** A history at whose end nothing is parked. */
export function queueHistory(...events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  return story(...events, stillParked());
}
