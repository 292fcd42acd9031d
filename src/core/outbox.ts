// The outbox: events that are committed with a result and relayed afterwards. This file says which events a result has, and what
// follows a try to relay one. A destination that fails is paused as a whole, so that its events cost one call per pause; an event
// that fails has a pause of its own too, so that it keeps no other from its turn.

import { durationMs, type DurationMs, epochMs, type EpochMs, later, recordId } from "./units.ts";

/** What an event of a route carries: the response, nothing of it, or what the origin itself says in `Onceway-Event`. */
export const EVENT_DATA = ["response", "none", "origin"] as const;
export type EventData = (typeof EVENT_DATA)[number];

/** `"2xx"` stands for all statuses from 200 to 299. */
export type StatusRule = number | `${1 | 2 | 3 | 4 | 5}xx`;

/** An entry of a route's `publish`: one event for each result that it matches. */
export interface Publication {
  /** The name of a destination. */
  readonly to: string;
  /** The event's type (CloudEvents 1.0). */
  readonly type: string;
  readonly when: readonly StatusRule[];
  readonly data: EventData;
  /** The event carries the key of the next step of a saga: `<key>:<step>`. */
  readonly step?: string;
}

export function matches(status: number, when: readonly StatusRule[]): boolean {
  return when.some((rule) => rule === status || rule === `${Math.trunc(status / 100)}xx`);
}

/** Dead: given up, and kept until an operator sends it again or drops it. */
export const EVENT_STATES = ["pending", "dead"] as const;
export type EventState = (typeof EVENT_STATES)[number];

/** What becomes of events, for the counts. */
export const EVENT_FATES = ["relayed", "failed", "dead", "erased"] as const;
export type EventFate = (typeof EVENT_FATES)[number];

/** An event of a result. */
export interface NewEvent {
  readonly id: string;
  readonly destination: string;
  /** The event as JSON. */
  readonly event: string;
}

/** Stands for the record of an event that is about none. */
export const NO_RECORD = recordId("");

/** When an event is tried again after its first, second … failed try (Standard Webhooks: over days, ever less often). */
const EVENT_PAUSES_MS: readonly number[] = [5, 30, 300, 1800, 7200, 18_000, 36_000].map((s) => 1000 * s);

/** How long a destination rests after its first, second … failed try in a row. It is tried with another event each time. */
const DESTINATION_PAUSES_MS: readonly number[] = [5, 30, 300].map((s) => 1000 * s);

/** The longest `Retry-After` that is honoured, and the pause of a destination that says it is gone. */
export const LONGEST_PAUSE_MS = durationMs(86_400_000);

/** Why a try has failed, as far as it decides what follows. */
export interface Failure {
  /** When the destination wants to be asked again; `null`: it did not say. */
  readonly retryAfterMs: number | null;
  /**
   * What failed: this event alone, which its destination refuses although it works; the destination; or the destination for good, as
   * it says itself.
   */
  readonly scope: "event" | "destination" | "gone";
}

/** How a try has ended. */
export type Sent = { readonly kind: "accepted" } | ({ readonly kind: "failed"; readonly reason: string } & Failure);

/** What becomes of an event whose try has failed; `due` is when it is tried again. */
export type AfterFailure = { readonly kind: "again"; readonly due: EpochMs } | { readonly kind: "dead" };

/** `tries` counts this one. `jitter` in [0, 1) spreads events that failed together. */
export function afterFailure(
  event: { readonly tries: number; readonly createdAt: EpochMs },
  giveUpAfterMs: DurationMs,
  failure: Failure,
  jitter: number,
  now: EpochMs,
): AfterFailure {
  if (isOver(event.createdAt, giveUpAfterMs, now)) return { kind: "dead" };
  const due = later(now, pauseMs(EVENT_PAUSES_MS, event.tries, failure, jitter));
  // The last try comes when the time is over, not long before it.
  return { kind: "again", due: epochMs(Math.min(due, event.createdAt + giveUpAfterMs)) };
}

/** Whether an event is given up. */
export function isOver(createdAt: EpochMs, giveUpAfterMs: DurationMs, now: EpochMs): boolean {
  return now >= createdAt + giveUpAfterMs;
}

/** How long a destination rests after `failures` failed tries in a row, if it is the destination that failed. */
export function restMs(failures: number, failure: Failure, jitter: number): DurationMs {
  return failure.scope === "gone" ? LONGEST_PAUSE_MS : pauseMs(DESTINATION_PAUSES_MS, failures, failure, jitter);
}

function pauseMs(pauses: readonly number[], tries: number, { retryAfterMs }: Failure, jitter: number): DurationMs {
  const pause = pauses[Math.min(tries, pauses.length) - 1] ?? LONGEST_PAUSE_MS;
  const asked = Math.min(retryAfterMs ?? 0, LONGEST_PAUSE_MS);
  return durationMs(Math.max(asked, Math.round(pause * (1 + jitter / 4))));
}
