// The operators' calls to a shard about its events. They carry only ids, enums and numbers, so they come through itty-durable's stub.
// What an operator changes is tried at once, so all rests of the destination end with it.

import type { AlertReport } from "../../../kernel/record/alerts.ts";
import type { AlertWriter } from "./alerts.ts";
import { answerCall, type AnsweredCall, jsonCall } from "../../../kernel/call.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import type { OutboxRelay } from "./relay.ts";
import {
  type DestinationCounts,
  type EventChange,
  EVENTS_AT_ONCE,
  type EventQuery,
  type OutboxList,
  type SeenEvent,
} from "./list.ts";
import type { OutboxStore } from "./outbox-store.ts";
import type { RestRows } from "./rests.ts";

export interface OutboxPage {
  readonly events: readonly SeenEvent[];
  /** `null`: this is the last page. */
  readonly next: string | null;
}

export interface EventsChanged {
  readonly events: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

/** Questions, through itty-durable. */
export const OUTBOX_CALLS = {
  list: jsonCall<EventQuery, OutboxPage>("list-events"),
  /** How many events of each destination are left. */
  counts: jsonCall<void, readonly DestinationCounts[]>("count-events"),
  /** Sends some events again, or drops them. */
  change: jsonCall<EventChange, EventsChanged>("change-events"),
};

/** A Worker reports an alert. */
export const ALERTS_CALL = jsonCall<AlertReport, void>("alerts");

export class OutboxCalls {
  readonly #list: OutboxList;
  readonly #rests: Pick<RestRows, "endAll">;
  readonly #relay: Pick<OutboxRelay, "continue">;
  readonly #alerts: Pick<AlertWriter, "report">;

  constructor(
    { list, events }: Pick<OutboxStore, "list" | "events">,
    relay: Pick<OutboxRelay, "continue">,
    alerts: Pick<AlertWriter, "report">,
  ) {
    this.#alerts = alerts;
    this.#list = list;
    this.#rests = events.rests;
    this.#relay = relay;
  }

  get calls(): readonly AnsweredCall[] {
    return [
      answerCall(OUTBOX_CALLS.list, (query) => this.list(query)),
      answerCall(OUTBOX_CALLS.counts, () => this.counts()),
      answerCall(OUTBOX_CALLS.change, (change) => this.change(change)),
      answerCall(ALERTS_CALL, (report) => this.#alerts.report(report, epochMs(Date.now()))),
    ];
  }

  list(query: EventQuery): OutboxPage {
    const events = this.#list.page(query);
    return { events, next: events.length < query.limit ? null : (events.at(-1)?.at ?? null) };
  }

  counts(): readonly DestinationCounts[] {
    return this.#list.counts(epochMs(Date.now()));
  }

  change(change: EventChange): EventsChanged {
    const events = this.#list.change(change, epochMs(Date.now()));
    if (change.action === "resend") {
      this.#rests.endAll(change.destination);
      this.#relay.continue();
    }
    return { events, more: change.event === null && events === EVENTS_AT_ONCE };
  }
}
