// The operators' calls to a shard about its events. They carry only ids, enums and numbers, so they come through itty-durable's stub.
// What an operator changes is tried at once, so all rests of the destination end with it.

import type { AlertReport } from "../../../kernel/record/alerts.ts";
import type { Alerts } from "./alerts.ts";
import { answered, type AnsweredCall, call } from "../../../kernel/call.ts";
import { epochMs } from "../../../kernel/record/units.ts";
import type { Outbox } from "./relay.ts";
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
  list: call<EventQuery, OutboxPage>("list-events"),
  /** How many events of each destination are left. */
  counts: call<void, readonly DestinationCounts[]>("count-events"),
  /** Sends some events again, or drops them. */
  change: call<EventChange, EventsChanged>("change-events"),
};

/** A Worker reports what operators are to be told. */
export const ALERTS_CALL = call<AlertReport, void>("alerts");

export class OutboxCalls {
  readonly #list: OutboxList;
  readonly #rests: Pick<RestRows, "endAll">;
  readonly #relay: Pick<Outbox, "continue">;
  readonly #alerts: Pick<Alerts, "report">;

  constructor(
    { list, events }: Pick<OutboxStore, "list" | "events">,
    relay: Pick<Outbox, "continue">,
    alerts: Pick<Alerts, "report">,
  ) {
    this.#alerts = alerts;
    this.#list = list;
    this.#rests = events.rests;
    this.#relay = relay;
  }

  get calls(): readonly AnsweredCall[] {
    return [
      answered(OUTBOX_CALLS.list, (query) => this.list(query)),
      answered(OUTBOX_CALLS.counts, () => this.counts()),
      answered(OUTBOX_CALLS.change, (change) => this.change(change)),
      answered(ALERTS_CALL, (report) => this.#alerts.report(report, epochMs(Date.now()))),
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
