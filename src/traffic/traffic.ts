// The traffic of one object or one isolate: counts by route, and the latest exchanges. Counting only adds in memory; reports are
// computed on request.

import type { ClaimState } from "../core/claim.ts";
import type { DeadReason, DeliveryDecision } from "../core/delivery.ts";
import type { EventFate } from "../core/outbox.ts";
import type { Outcome } from "../core/outcome.ts";
import type { AttemptVerdict } from "../core/timeline.ts";
import type { RecordReplays } from "./replay-counts.ts";
import {
  type AskAnswer,
  isNothing,
  type OutcomeCounts,
  outboxRoute,
  RouteCounters,
  type RouteNumbers,
} from "./route-counters.ts";

/** One exchange that has ended. */
export interface ExchangeReport {
  /** When its request came, in milliseconds since the epoch. */
  readonly at: number;
  /** The path of its route, as configured. */
  readonly route: string;
  /** `null` when the request has no valid key. */
  readonly recordId: string | null;
  readonly outcome: Outcome;
  readonly status: number;
  /** The number of the attempt that was started, or whose answer this is; `null` without an attempt. */
  readonly attempt: number | null;
  /** Until the answer was ready. */
  readonly durationMs: number;
  /** The part from the call to the origin until its response headers; `null` when it was not called. */
  readonly originMs: number | null;
  /** The part spent waiting for the attempt of another request. */
  readonly waitedMs: number;
}

/** The counts that an isolate hands over to a shard. */
export interface TrafficBatch {
  readonly routes: readonly RouteNumbers[];
  readonly exchanges: readonly ExchangeReport[];
  /** The replays of records that the isolate has given alone. An isolate with older code does not say. */
  readonly replays?: readonly RecordReplays[];
  /** All routes whose callers' tokens expire before their records do. An isolate with older code does not say. */
  readonly rotating?: readonly string[];
}

/** Who else hears of what is counted. */
export interface TrafficWatch {
  exchange(report: ExchangeReport, now: number): void;
  passed?(route: string, now: number): void;
  add?(batch: TrafficBatch, now: number): void;
}

/** Where an isolate sends its batch to a shard. */
export const TRAFFIC_URL = "https://key-shard/traffic";

/** Where the counts of all shards are added up; answers with the totals. */
export const TOTALS_URL = "https://key-shard/totals";

/** How many exchanges are remembered: enough to fill a page for an operator with any number of shards. */
const MAX_EXCHANGES = 100;

const MINUTE_MS = 60_000;

export class Traffic {
  readonly #watch: TrafficWatch | null;
  #routes = new Map<string, RouteCounters>();
  /** A ring; `#countedAt` has the times at which they were counted, which never decrease. */
  #exchanges: ExchangeReport[] = [];
  #countedAt: number[] = [];
  #next = 0;
  #latest = 0;
  readonly #rotating = new Set<string>();
  /** Whether a route was added to these since the last `take`. */
  #hasNewRotating = false;

  constructor(watch: TrafficWatch | null = null) {
    this.#watch = watch;
  }

  get isEmpty(): boolean {
    return this.#routes.size === 0 && !this.#hasNewRotating;
  }

  /** Notes that the tokens of the route's callers expire before their records do. */
  rotating(route: string): void {
    this.#rotating.add(route);
    this.#hasNewRotating = true;
  }

  get rotatingRoutes(): readonly string[] {
    return [...this.#rotating];
  }

  exchange(report: ExchangeReport, now: number): void {
    const counters = this.#countersOf(report.route);
    counters.request(report.outcome, minuteOf(now));
    const ofOrigin = originMs(report);
    if (ofOrigin !== null) counters.origin(ofOrigin);
    counters.gateway(gatewayMs(report));
    this.#remember(report, now);
    this.#watch?.exchange(report, now);
  }

  /** Counts a request that went to the origin without a key. It is not an exchange. */
  passed(route: string, now: number): void {
    this.#countersOf(route).request("passed-through", minuteOf(now));
    this.#watch?.passed?.(route, now);
  }

  attempt(route: string, number: number): void {
    this.#countersOf(route).attempt(number);
  }

  verdict(route: string, verdict: AttemptVerdict): void {
    this.#countersOf(route).verdict(verdict);
  }

  /** Counts a question to the object of an older layout. */
  asked(route: string, answer: AskAnswer): void {
    this.#countersOf(route).asked(answer);
  }

  /** Counts a request that was sent on to another layout. */
  moved(route: string): void {
    this.#countersOf(route).moved();
  }

  /** Counts the dead letter of a parked message. */
  died(route: string, reason: DeadReason): void {
    this.#countersOf(route).died(reason);
  }

  /** An accepted request was given up. */
  givenUp(route: string): void {
    this.#countersOf(route).givenUp();
  }

  /** Counts a decision about a message. */
  delivered(route: string, decision: DeliveryDecision, reason: DeadReason | null): void {
    this.#countersOf(route).delivered(decision, reason);
  }

  /** Counts what consumers were told of their claims. */
  claimed(route: string, states: readonly ClaimState[]): void {
    const counters = this.#countersOf(route);
    for (const state of states) counters.claimed(state);
  }

  /** Counts what became of events. */
  relayed(destination: string, fate: EventFate, events: number): void {
    this.#countersOf(outboxRoute(destination)).relayed(fate, events);
  }

  get numbers(): readonly RouteNumbers[] {
    return [...this.#routes.values()].map(({ numbers }) => numbers);
  }

  /** The counts since the last call, for routes that have any; `outcomes` still includes them. */
  takeNew(): readonly RouteNumbers[] {
    return [...this.#routes.values()].map((counters) => counters.take()).filter((numbers) => !isNothing(numbers));
  }

  outcomes(now: number): readonly OutcomeCounts[] {
    return [...this.#routes.values()].flatMap((counters) => counters.outcomes(minuteOf(now)));
  }

  /** The exchanges counted after `after` and not after `upTo`, oldest first. */
  recent(after: number, upTo: number): readonly ExchangeReport[] {
    const inOrder = [...this.#exchanges.keys()].map((at) => (this.#next + at) % this.#exchanges.length);
    return inOrder.flatMap((at) => {
      const countedAt = this.#countedAt[at] ?? 0;
      const report = this.#exchanges[at];
      return report !== undefined && countedAt > after && countedAt <= upTo ? [report] : [];
    });
  }

  /** Returns everything and resets it. Only the routes with tokens that rotate stay, because they are noted once. */
  take(): TrafficBatch {
    const rotating = this.rotatingRoutes;
    const counted = { routes: this.numbers, exchanges: this.recent(-1, Number.POSITIVE_INFINITY) };
    const batch = rotating.length === 0 ? counted : { ...counted, rotating };
    this.#hasNewRotating = false;
    this.#routes = new Map();
    this.#exchanges = [];
    this.#countedAt = [];
    this.#next = 0;
    return batch;
  }

  add(batch: TrafficBatch, now: number): void {
    const { routes, exchanges, rotating = [] } = batch;
    for (const route of rotating) this.rotating(route);
    for (const numbers of routes) this.#countersOf(numbers.route).add(numbers, minuteOf(now));
    for (const report of exchanges) this.#remember(report, now);
    this.#watch?.add?.(batch, now);
  }

  #remember(report: ExchangeReport, now: number): void {
    this.#latest = Math.max(this.#latest, now);
    this.#exchanges[this.#next] = report;
    this.#countedAt[this.#next] = this.#latest;
    this.#next = (this.#next + 1) % MAX_EXCHANGES;
  }

  #countersOf(route: string): RouteCounters {
    let counters = this.#routes.get(route);
    if (counters === undefined) {
      counters = new RouteCounters(route);
      this.#routes.set(route, counters);
    }
    return counters;
  }
}

/** The part of an exchange from the call to the origin until its headers; `null` when nothing was sent. */
export function originMs({ originMs: ms, outcome }: ExchangeReport): number | null {
  return outcome === "origin-unreachable" ? null : ms;
}

/** The rest of it, without waiting for others. */
export function gatewayMs({ durationMs, originMs: ms, waitedMs }: ExchangeReport): number {
  return Math.max(0, durationMs - (ms ?? 0) - waitedMs);
}

function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS);
}
