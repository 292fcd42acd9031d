// Every statement of the outbox and its alerts, for the test of query plans.

import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts";
import { OwnedEvents } from "../../../../src/features/outbox/object/owned-events.ts";
import { completed, freshId, NOW, started } from "../../../support/integration/records.ts";
import { saveWithEvents } from "./saved-events.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";

export function useOutbox(ledger: Ledger, { sql }: LedgerStorage): void {
  const { events: outbox, list, alerts } = new OutboxStore(ledger.tables);
  const owned = new OwnedEvents(sql, outbox);
  const id = freshId();
  const claim = started();
  ledger.save(id, null, claim);
  const events = ["a", "b"].map((name) => ({ id: name, destination: name, lane: 3, event: "{}" }));
  saveWithEvents(ledger, id, completed(claim), events);
  const found = owned.slice(null, 9);
  for (const destination of outbox.destinations()) {
    outbox.lanes(destination);
    for (const lane of [3, 4]) outbox.rests.put(destination, lane, { until: NOW, setAt: NOW, failures: 1, reason: "" });
    outbox.rests.end(destination, 3);
    outbox.rests.endAll(destination);
    outbox.noteTries(outbox.due(destination, 3, NOW, { events: 2, bytes: 1 }), "");
    list.bringBack(NOW, 1);
    outbox.triedSince(destination, 3, NOW, NOW, 1);
    outbox.leastTried(destination, 3, NOW);
    const all = { destination, state: null, event: null };
    for (const { id: event, at } of list.page({ ...all, after: null, limit: 1 })) {
      list.change({ ...all, action: "resend", event: { id: event, at } }, NOW);
    }
    list.change({ ...all, action: "resend" }, NOW);
    list.counts(NOW);
    for (const event of outbox.due(destination, 3, NOW, { events: 2, bytes: 1 }))
      outbox.move(event, DEAD + NOW, { at: NOW });
    outbox.delete(outbox.due(destination, 3, NOW, { events: 2, bytes: 1 }));
    outbox.eraseDead(destination, NOW, 1);
  }
  // None of them is where it was found.
  for (const event of found) event.erase();
  const reported = { events: [], states: [{ name: "outcome-unknown", at: NOW, count: 1, due: NOW }], at: NOW };
  alerts.tell(null, reported);
  alerts.get("outcome-unknown");
  alerts.below("silent-shard:");
  alerts.due(NOW);
  alerts.next();
  alerts.bringBack(NOW);
  alerts.unknownOutcomes(NOW);
  alerts.erase("outcome-unknown");
}
