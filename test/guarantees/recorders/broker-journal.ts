// The journal of the broker (broker-process.ts) as a part of the history.

import type { TimedLine } from "../../support/broker.ts";
import type { Delivery, HistoryEvent } from "../history.ts";
import { sha256 } from "./marks.ts";

/** What the broker has written down, as events of the history. */
export function eventsIn(journal: readonly TimedLine[]): readonly HistoryEvent[] {
  /** Those whose end is not known, by message and number. */
  const open = new Map<string, Pick<Delivery, "message" | "number" | "sentAt">>();
  const events = journal.flatMap((line): readonly HistoryEvent[] => {
    const { at, id: message, kind } = line;
    switch (kind) {
      case "sent":
        return [];
      case "letter": {
        const { letter, reason, status, time, firstSentAt, body } = line;
        const [writtenAt, messageSentAt] = [Date.parse(time), Date.parse(firstSentAt)];
        const bodySha256 = body === null ? null : sha256(body);
        return [{ type: "dead-letter", message, letter, reason, status, writtenAt, messageSentAt, bodySha256, at }];
      }
      case "delivered":
        open.set(`${message}/${line.attempts}`, { message, number: line.attempts, sentAt: at });
        return [];
      case "acked":
      case "ack-lost":
      case "lost":
      case "retried":
      case "undecided": {
        const begun = open.get(`${message}/${line.attempts}`);
        if (begun === undefined) throw new Error(`the delivery ${line.attempts} of ${message} never began`);
        open.delete(`${message}/${line.attempts}`);
        return [{ type: "delivery", ...begun, endAt: at, outcome: kind }];
      }
    }
  });
  const endAt = journal.at(-1)?.at ?? 0;
  const cut = [...open.values()].map(({ message, number, sentAt }): Delivery => ({
    type: "delivery",
    message,
    number,
    sentAt,
    endAt,
    outcome: "lost",
  }));
  return events.concat(cut);
}
