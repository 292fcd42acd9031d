// Where the events of a destination go, by the configuration. It is read only in objects that have events.

import { destinationsIn } from "../settings/read-destinations.ts";
import type { Alert } from "../../../kernel/record/alerts.ts";
import { durationMs } from "../../../kernel/record/units.ts";
import type { AlertReceiver } from "../alert-event.ts";
import { batchOf, sendEvents } from "../send-events.ts";
import { deadLetterBinding } from "./dead-letters.ts";
import type { RelayTarget } from "./relay.ts";

type Env = Readonly<Record<string, unknown>>;

const HOUR_MS = 3_600_000;

/** For events whose destination is no longer configured. They stay, and an operator sees why. Dead letters keep these times too. */
export const NOWHERE: RelayTarget = {
  giveUpAfterMs: durationMs(72 * HOUR_MS),
  keepDeadMs: durationMs(30 * 24 * HOUR_MS),
  batch: { events: 1, bytes: 0 },
  send: () =>
    Promise.resolve({
      kind: "failed",
      reason: "no destination of this name is configured",
      retryAfterMs: null,
      scope: "destination",
    }),
};

export function eventTarget(name: string, env: Env): RelayTarget {
  const binding = deadLetterBinding(name);
  if (binding !== null) {
    const target = { target: { kind: "queue", binding } } as const;
    return { ...NOWHERE, batch: batchOf(target), send: (events, now) => sendEvents(target, events, env, now) };
  }
  const destination = destinationsIn(env).get(name);
  if (destination === undefined) return NOWHERE;
  const { giveUpAfterMs, keepDeadMs } = destination;
  return {
    giveUpAfterMs,
    keepDeadMs,
    batch: batchOf(destination),
    send: (events, now) => sendEvents(destination, events, env, now),
  };
}

/** The destinations that want the alert. */
export function alertReceivers(alert: Alert, env: Env): readonly AlertReceiver[] {
  return [...destinationsIn(env).values()].filter(({ alerts }) => alerts.includes(alert));
}
