// The outbox within an object: events, alerts and dead letters.

import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { LAST_LOOKED_AT } from "../../../kernel/store/due-records.ts";
import { type AlertPorts, AlertWriter } from "./alerts.ts";
import { OutboxCalls } from "./outbox-calls.ts";
import { DeadLetters } from "./dead-letters.ts";
import { outboxHooks } from "./hooks.ts";
import { OwnedEvents } from "./owned-events.ts";
import { OutboxStore } from "./outbox-store.ts";
import { OutboxRelay, type OutboxPorts } from "./relay.ts";
import { alertReceivers, eventTarget } from "./target.ts";

/** Where events go, and which destinations want alerts. */
export type OutboxTargets = Pick<OutboxPorts, "destination"> & Pick<AlertPorts, "receivers">;

export function outboxObject(
  kernel: ObjectKernel,
  { destination, receivers }: OutboxTargets = {
    destination: (name) => eventTarget(name, kernel.env),
    receivers: (alert) => alertReceivers(alert, kernel.env),
  },
): ObjectFeature {
  const { ledger, reporter } = kernel;
  const { traffic } = reporter;
  const store = new OutboxStore(ledger.tables);
  const alerts = new AlertWriter({
    ...kernel,
    store,
    receivers,
    published: (...written) => outbox.published(...written),
  });
  const outbox = new OutboxRelay({
    ...kernel,
    store,
    destination,
    alerts,
    count: (...counted) => traffic.relayed(...counted),
  });
  const deadLetters = new DeadLetters({ ledger, alerts, traffic });
  const owned = new OwnedEvents(kernel.storage.sql, store.events);
  const calls = new OutboxCalls(store, outbox, alerts);
  return {
    name: "outbox",
    hooks: outboxHooks({ store, outbox, deadLetters, alerts }),
    dues: [
      { name: "events", nextAt: (now) => outbox.nextAt(now), run: (now) => outbox.relayDue(now) },
      { name: "alerts", nextAt: () => alerts.nextAt(), run: (now) => alerts.tellDue(now) },
    ],
    bringBack: (now) => store.list.bringBack(now, LAST_LOOKED_AT) + store.alerts.bringBack(now),
    rowsOfRecords: (most) => owned.slices(most),
    calls: calls.calls,
    numbers: () => calls.counts(),
  };
}
