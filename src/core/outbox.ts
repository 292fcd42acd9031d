// The outbox: events that are committed with a result and relayed afterwards. This file says which events a result has, and what
// follows a try to relay one. Callers take turns at a destination (lanes.ts). One that fails rests for the lanes whose events it did not
// take, so that it costs one call per pause when it is down, and delays nobody else when it refuses one caller's events. An event that
// fails has a pause of its own too, so that it keeps no other of its lane from its turn.

import { type LaneHead, LANES } from "./lanes.ts";
import { durationMs, type DurationMs, epochMs, type EpochMs, later, latest, recordId } from "./units.ts";

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
  /** Whose turn it takes (lanes.ts). */
  readonly lane: number;
  /** The event as JSON. */
  readonly event: string;
}

/** Stands for the record of an event that is about none. */
export const NO_RECORD = recordId("");

/** When an event is tried again after its first, second … failed try (Standard Webhooks: over days, ever less often). */
const EVENT_PAUSES_MS: readonly number[] = [5, 30, 300, 1800, 7200, 18_000, 36_000].map((s) => 1000 * s);

/** How long a destination rests after its first, second … failed try in a row. It is tried with the event that has failed least. */
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

/** A destination that has failed. */
export interface Rest {
  readonly until: EpochMs;
  /** How often it has failed in a row. */
  readonly failures: number;
  readonly reason: string;
  /** The lanes whose events it did not take: a bit for each. The others need not wait. */
  readonly lanes: number;
}

/** All lanes: bits 0 to OWN_LANE. */
const ALL_LANES = 2 ** (LANES + 1) - 1;

/** After failures in so many lanes, with no event taken in between, it is the destination that has failed, and all lanes wait. */
const LANES_IN_DOUBT = 3;

/** What the relay knows of a destination. */
export interface DestinationState {
  /** `null`: it has not failed, or has worked since. */
  readonly rest: Rest | null;
  /** The lanes that have failed since it took an event: a bit for each. */
  readonly failing: number;
  /** The lane that had its turn last. */
  readonly lastLane: number;
}

/** Whether a lane waits for the destination's rest to end. */
function waits(lane: number, { rest, failing }: DestinationState): boolean {
  return rest !== null && (hasLane(rest.lanes, lane) || lanesIn(failing) >= LANES_IN_DOUBT);
}

function hasLane(lanes: number, lane: number): boolean {
  return ((lanes >> lane) & 1) === 1;
}

function lanesIn(lanes: number): number {
  return Array.from({ length: LANES + 1 }, (_, lane) => lane).filter((lane) => hasLane(lanes, lane)).length;
}

/** When a lane's first event can be tried. */
export function triedFrom({ lane, at }: LaneHead, state: DestinationState): EpochMs {
  const { rest } = state;
  return epochMs(rest !== null && waits(lane, state) ? Math.max(at, rest.until) : at);
}

/** Whose event is tried next. */
export interface Turn {
  readonly lane: number;
  /** With the one event that has failed least, to find out whether the destination takes any. */
  readonly isProbe: boolean;
}

/**
 * The next lane in turn of those that can be tried now; if it is the destination that has failed, first one that has not failed. `null`:
 * none.
 */
export function nextTurn(due: readonly LaneHead[], state: DestinationState, now: EpochMs): Turn | null {
  const { rest, failing, lastLane } = state;
  const isInDoubt = lanesIn(failing) >= LANES_IN_DOUBT;
  const hasFailed = (lane: number): boolean => isInDoubt && rest !== null && hasLane(rest.lanes, lane);
  const distance = (lane: number): number => (lane - lastLane + LANES) % (LANES + 1);
  const [next] = due
    .filter((head) => triedFrom(head, state) <= now)
    .map(({ lane }) => lane)
    .toSorted((one, other) => Number(hasFailed(one)) - Number(hasFailed(other)) || distance(one) - distance(other));
  return next === undefined ? null : { lane: next, isProbe: waits(next, state) };
}

/**
 * Whether it is this event that its destination does not take, and not the destination that fails: it says so, or the event has failed
 * before and another of its lane was taken just now.
 */
export function isOwnFailure(
  { tries, lane }: { readonly tries: number; readonly lane: number },
  { scope }: Failure,
  { rest, failing }: Pick<DestinationState, "rest" | "failing">,
): boolean {
  if (scope !== "destination") return scope === "event";
  return tries > 0 && !hasLane(failing, lane) && !hasLane(rest?.lanes ?? 0, lane);
}

/** The rest of a destination that has not taken an event of this lane. */
export function restAfter(
  { rest }: Pick<DestinationState, "rest">,
  lane: number,
  failure: Failure & { readonly reason: string },
  jitter: number,
  now: EpochMs,
): Rest {
  const { reason, scope, retryAfterMs } = failure;
  const lanes = scope === "gone" ? ALL_LANES : withLane(rest?.lanes ?? 0, lane);
  // Another lane has failed while the destination rests: it waits for the same end.
  if (rest !== null && now < rest.until) {
    const asked = scope === "gone" ? LONGEST_PAUSE_MS : Math.min(retryAfterMs ?? 0, LONGEST_PAUSE_MS);
    return { ...rest, until: latest(rest.until, later(now, durationMs(asked))), reason, lanes };
  }
  const failures = (rest?.failures ?? 0) + 1;
  return { until: later(now, restMs(failures, failure, jitter)), failures, reason, lanes };
}

/**
 * What is left of a rest when an event of this lane has been taken: nothing, if the destination rested for it. Otherwise the lanes go on
 * waiting that failed.
 */
export function restAfterSuccess(rest: Rest | null, lane: number): Rest | null {
  return rest === null || hasLane(rest.lanes, lane) ? null : rest;
}

/** These lanes and another. */
export function withLane(lanes: number, lane: number): number {
  return lanes | (1 << lane);
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
