// The outbox: events that are committed with a result and relayed afterwards. This file says which events a result has, and what
// follows a try to relay one. Callers take turns at a destination (lanes.ts). A lane whose events are not taken rests, and no other waits
// for it, whatever the destination answers to one caller's events. Only when calls for several lanes have had no answer at all does the
// destination rest as a whole, so that one that is away costs one call per rest. An event that fails has a pause of its own too, so that
// it keeps no other of its lane from its turn.

import { type LaneHead, LANES, OWN_LANE } from "./lanes.ts";
import { classOfStatus, type StatusRule } from "./verdict.ts";
import { durationMs, type DurationMs, epochMs, type EpochMs, timeAfter, recordId } from "./units.ts";

/** What an event of a route carries: the response, nothing of it, or what the origin itself says in `Onceway-Event`. */
export const EVENT_DATA = ["response", "none", "origin"] as const;
export type EventData = (typeof EVENT_DATA)[number];

/** An entry of a route's `publish`: one event for each result that it matches. */
export interface EventPublication {
  /** The name of a destination. */
  readonly to: string;
  /** The event's type (CloudEvents 1.0). */
  readonly type: string;
  readonly when: readonly StatusRule[];
  readonly data: EventData;
  /** The event carries the key of the next step of a saga: `<key>:<step>`. */
  readonly step?: string;
}

export function matchesStatus(status: number, when: readonly StatusRule[]): boolean {
  return when.includes(status) || when.includes(classOfStatus(status));
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
export const EVENT_PAUSES_MS: readonly number[] = [5, 30, 300, 1800, 7200, 18_000, 36_000].map((s) => 1000 * s);

/** How long a lane, or a destination, rests after its first, second … failed try in a row. */
const REST_PAUSES_MS: readonly number[] = [5, 30, 300].map((s) => 1000 * s);

/** The longest `Retry-After` that is honoured, and the pause after an answer that the destination is gone. */
export const LONGEST_PAUSE_MS = durationMs(86_400_000);

/** Why a try has failed, as far as it decides what follows. */
export interface TryFailure {
  /** When the destination wants to be asked again; `null`: it did not say. */
  readonly retryAfterMs: number | null;
  /**
   * What has failed: this event alone, which the destination refuses although it works; what this caller sends, because an answer says
   * nothing about others; or the destination, which did not answer.
   */
  readonly scope: "event" | "lane" | "destination";
}

/** How a try has ended. */
export type TryResult =
  | { readonly kind: "accepted" }
  | ({ readonly kind: "failed"; readonly reason: string } & TryFailure);

/** What becomes of an event whose try has failed; `due` is when it is tried again. */
export type AfterFailure = { readonly kind: "again"; readonly due: EpochMs } | { readonly kind: "dead" };

/** `tries` counts this one. `jitter` in [0, 1) spreads events that failed together. */
export function afterFailure(
  event: { readonly tries: number; readonly createdAt: EpochMs },
  giveUpAfterMs: DurationMs,
  failure: TryFailure,
  jitter: number,
  now: EpochMs,
): AfterFailure {
  if (isOver(event.createdAt, giveUpAfterMs, now)) return { kind: "dead" };
  const due = timeAfter(now, pauseMs(EVENT_PAUSES_MS, event.tries, failure, jitter));
  // The last try comes when the time is over, not long before it.
  return { kind: "again", due: epochMs(Math.min(due, event.createdAt + giveUpAfterMs)) };
}

/** Whether an event is given up. */
export function isOver(createdAt: EpochMs, giveUpAfterMs: DurationMs, now: EpochMs): boolean {
  return now >= createdAt + giveUpAfterMs;
}

/** A lane, or a destination, whose last try has failed. */
export interface LaneRest {
  readonly until: EpochMs;
  /** When this was set. */
  readonly setAt: EpochMs;
  /** How often it has failed in a row. */
  readonly failures: number;
  readonly reason: string;
}

/** Stands for all lanes of a destination: it rests as a whole. */
export const EVERY_LANE = OWN_LANE + 1;

/** The rests of a destination's lanes, and of EVERY_LANE. One that has had its last event taken is not among them. */
export type LaneRests = ReadonlyMap<number, LaneRest>;

/** After calls for so many lanes had no answer, and no other call had one in between, the destination rests as a whole. */
const LANES_UNCERTAIN = 3;

/** What the relay knows of a destination. */
export interface DestinationState {
  readonly rests: LaneRests;
  /** The lane that had its turn last. */
  readonly lastLane: number;
}

/** When a lane's first event can be tried. */
export function triedFrom({ lane, at }: LaneHead, rests: LaneRests): EpochMs {
  return epochMs(Math.max(at, rests.get(lane)?.until ?? 0, rests.get(EVERY_LANE)?.until ?? 0));
}

/** Whose event is tried next. */
export interface EventTurn {
  readonly lane: number;
  /** With the one event that has failed least, to find out whether any is taken. */
  readonly isProbe: boolean;
}

/** The next lane in turn of those that can be tried now; after a rest of the whole destination, the one that has failed least. `null`: none. */
export function nextTurn(
  due: readonly LaneHead[],
  { rests, lastLane }: DestinationState,
  now: EpochMs,
): EventTurn | null {
  const isUncertain = rests.has(EVERY_LANE);
  const failures = (lane: number): number => (isUncertain ? (rests.get(lane)?.failures ?? 0) : 0);
  const distance = (lane: number): number => (lane - lastLane + LANES) % (LANES + 1);
  const [next] = due
    .filter((head) => triedFrom(head, rests) <= now)
    .map(({ lane }) => lane)
    .toSorted((one, other) => failures(one) - failures(other) || distance(one) - distance(other));
  return next === undefined ? null : { lane: next, isProbe: isUncertain || rests.has(next) };
}

/**
 * Whether a failure is charged to the event alone: the destination says so, or the event has failed before and another of its lane was
 * taken since (`hasLaneFailed`: none was).
 */
export function isOwnFailure(tries: number, { scope }: TryFailure, hasLaneFailed: boolean): boolean {
  return scope === "event" || (tries > 0 && !hasLaneFailed);
}

/** Whether the destination itself is away. `unanswered`: the lanes whose calls had no answer since any had one. */
export function isAway(unanswered: ReadonlySet<number>, rests: LaneRests): boolean {
  return rests.has(EVERY_LANE) || unanswered.size >= LANES_UNCERTAIN;
}

/** The rest that follows a failure; `before`: that of the failure before. */
export function restAfter(
  before: LaneRest | null,
  failure: TryFailure & { readonly reason: string },
  jitter: number,
  now: EpochMs,
): LaneRest {
  const failures = (before?.failures ?? 0) + 1;
  return { until: timeAfter(now, restMs(failures, failure, jitter)), setAt: now, failures, reason: failure.reason };
}

/** A rest that was set in the future was set by a clock that was ahead, and is over now, however short it looks. */
export function restBroughtBack(rest: LaneRest, now: EpochMs): LaneRest {
  return rest.setAt > now ? { ...rest, until: now, setAt: now } : rest;
}

/** How long a rest takes after `failures` failed tries in a row. */
export function restMs(failures: number, failure: TryFailure, jitter: number): DurationMs {
  return pauseMs(REST_PAUSES_MS, failures, failure, jitter);
}

/** What waits at a destination because it rests. */
export interface RestingEvents {
  /** How many of the lanes: all, if the destination rests as a whole. */
  readonly lanes: number;
  /** When the last of them is tried again. */
  readonly until: EpochMs;
  /** How often the one has failed in a row that has failed most. */
  readonly failures: number;
  /** Why that one has failed last. */
  readonly reason: string;
}

/** How many lanes a destination has: those of callers, and that of alerts. */
export const ALL_LANES = LANES + 1;

/** `null`: nothing rests now. */
export function restingAt(rests: LaneRests, now: EpochMs): RestingEvents | null {
  const resting = [...rests].filter(([, { until }]) => now < until);
  const [worst] = resting.map(([, rest]) => rest).toSorted((one, other) => other.failures - one.failures);
  if (worst === undefined) return null;
  const whole = resting.find(([lane]) => lane === EVERY_LANE)?.[1];
  const { failures, reason } = whole ?? worst;
  const until = epochMs(Math.max(...resting.map(([, rest]) => rest.until)));
  return { lanes: whole !== undefined ? ALL_LANES : resting.length, until, failures, reason };
}

function pauseMs(pauses: readonly number[], tries: number, { retryAfterMs }: TryFailure, jitter: number): DurationMs {
  const pause = pauses[Math.min(tries, pauses.length) - 1] ?? LONGEST_PAUSE_MS;
  const asked = Math.min(retryAfterMs ?? 0, LONGEST_PAUSE_MS);
  return durationMs(Math.max(asked, Math.round(pause * (1 + jitter / 4))));
}
