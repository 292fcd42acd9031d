// Alerts for operators, as CloudEvents (version 1.0, JSON). They go the way of a result's events: stored where they happen, sent
// until they are taken. They carry no key, no path of a request and no body, so that any chat or pager may show them.

import type { Destination } from "../../kernel/config/resolved.ts";
import type { Alert } from "../../kernel/record/alerts.ts";
import { OWN_LANE } from "../../kernel/record/lanes.ts";
import type { NewEvent } from "../../kernel/record/outbox.ts";
import type { EpochMs } from "../../kernel/record/units.ts";

/** A destination that gets alerts. */
export type AlertReceiver = Pick<Destination, "name" | "console">;

export interface AlertFacts {
  /** The same however often the event is sent. */
  readonly id: string;
  readonly alert: Alert;
  readonly time: EpochMs;
  /** What it is about: a record's id, or the name of a shard, queue or destination. */
  readonly subject: string;
  /** Of the shard that tells it, or that is meant. */
  readonly shard: string;
  /** One sentence for people. */
  readonly summary: string;
  /** In the console, below its address; empty: the overview. */
  readonly page: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What to do, for people who see only this. */
const ADVICE: Readonly<Record<Alert, string>> = {
  "outcome-unknown":
    "Find out at the origin whether it took effect. Then resolve the record with its answer, or release it.",
  "outcome-still-unknown":
    "Decide before unknown_retention has passed: then a retry counts as a first request. onceway records list --state unknown lists them.",
  "dead-letter": "Read the letter in the queue of dead letters. It has the message, the reason and the record.",
  "dead-event": "Find out why the destination did not take it. Then send it again: onceway events resend --state dead.",
  "silent-shard": "Its keys get 503 store-unavailable. Look at the log and at the platform's status.",
};

export function alertEvents(receivers: readonly AlertReceiver[], facts: AlertFacts): readonly NewEvent[] {
  const { id, alert, time, subject, shard, summary, page, data } = facts;
  return receivers.map(({ name, console }) => {
    const link = console === null ? {} : { link: `${console}${page}` };
    const event = {
      specversion: "1.0",
      id,
      source: `onceway:${shard}`,
      type: `dev.onceway.alert.${alert}`,
      subject,
      time: new Date(time).toISOString(),
      datacontenttype: "application/json",
      data: { summary, ...data, ...link, advice: ADVICE[alert] },
    };
    return { id, destination: name, lane: OWN_LANE, event: JSON.stringify(event) };
  });
}
