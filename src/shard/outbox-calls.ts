// The operators' calls to a shard about its events. They carry only ids, enums and numbers, so they come through itty-durable's stub.
// What an operator changes is tried at once, so the rest of the destination ends with it.

import { epochMs } from "../core/units.ts";
import type { Outbox } from "./outbox.ts";
import type { Ledger } from "./store/ledger.ts";
import {
  type DestinationCounts,
  type EventChange,
  EVENTS_AT_ONCE,
  type EventQuery,
  type OutboxList,
  type SeenEvent,
} from "./store/outbox-list.ts";
import type { OutboxRows } from "./store/outbox.ts";

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

export class OutboxCalls {
  readonly #list: OutboxList;
  readonly #rows: Pick<OutboxRows, "endRest">;
  readonly #relay: Pick<Outbox, "continue">;

  constructor({ events, outbox }: Pick<Ledger, "events" | "outbox">, relay: Pick<Outbox, "continue">) {
    this.#list = events;
    this.#rows = outbox;
    this.#relay = relay;
  }

  list(query: EventQuery): OutboxPage {
    const events = this.#list.page(query);
    return { events, next: events.length < query.limit ? null : (events.at(-1)?.at ?? null) };
  }

  counts(): readonly DestinationCounts[] {
    return this.#list.counts();
  }

  change(change: EventChange): EventsChanged {
    const events = this.#list.change(change, epochMs(Date.now()));
    if (change.action === "resend") {
      this.#rows.endRest(change.destination);
      this.#relay.continue();
    }
    return { events, more: change.event === null && events === EVENTS_AT_ONCE };
  }
}
