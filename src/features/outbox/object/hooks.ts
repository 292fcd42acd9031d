// The outbox's part in steps of records: the events of a result, the dead letter of a parked message, and alerts. Each is
// written in the commit of what it tells.

import { deadParkedMessage } from "../../../kernel/record/parked-message.ts";
import type { RecordChange, StepParticipation, StepHook } from "../../../kernel/step-hook.ts";
import { keyText } from "../../../kernel/store/label.ts";
import type { AlertWriter } from "./alerts.ts";
import type { DeadLetters } from "./dead-letters.ts";
import type { OutboxStore } from "./outbox-store.ts";
import type { OutboxRelay } from "./relay.ts";

export interface OutboxHooksPorts {
  readonly store: Pick<OutboxStore, "events" | "alerts">;
  readonly outbox: Pick<OutboxRelay, "eventsOf" | "published">;
  readonly deadLetters: DeadLetters;
  readonly alerts: Pick<AlertWriter, "ofStep" | "added">;
}

/** In the order in which their events are written. */
export function outboxHooks({ store, outbox, deadLetters, alerts }: OutboxHooksPorts): readonly StepHook[] {
  const { events: rows } = store;
  const letter = (change: RecordChange, isForgotten: boolean): StepParticipation | null => {
    const { id, before, after, now, label, request } = change;
    const dead = deadParkedMessage(before, after, isForgotten);
    if (dead === null) return null;
    const events = [deadLetters.letterOf(id, dead, request(), now)];
    const key = keyText(label());
    return {
      write: () => rows.insert(id, events, now, key),
      written: () => {
        rows.added();
        outbox.published(events, now);
        deadLetters.report(id, dead, now);
      },
    };
  };
  return [
    {
      name: "events",
      join: ({ id, before, after, now, label, attachments: { response = null, originEvents = null } }) => {
        const events = outbox.eventsOf(id, before, after, { label, response, originEvents });
        if (events.length === 0) return null;
        const key = keyText(label());
        return {
          write: () => rows.insert(id, events, now, key),
          written: () => {
            rows.added();
            outbox.published(events, now);
          },
        };
      },
    },
    {
      name: "dead letters",
      join: (change) => letter(change, change.isForgotten),
      expire: (change) => letter(change, false),
    },
    {
      name: "alerts",
      join: ({ id, before, after, now, label }) => {
        const alert = alerts.ofStep(id, before, after, () => label().route, now);
        if (alert === null) return null;
        return {
          write: () => store.alerts.insert(id, alert),
          written: () => {
            store.alerts.added(alert);
            alerts.added(alert, now);
          },
        };
      },
    },
  ];
}
