// The numbers of one route. They live in memory and are never written: an evicted object begins at zero again, which collectors
// treat as an ordinary counter reset.

import { CLAIM_STATES, type ClaimState } from "../core/claim.ts";
import { DEAD_REASONS, type DeadReason, DELIVERY_DECISIONS, type DeliveryDecision } from "../core/delivery.ts";
import { EVENT_FATES, type EventFate } from "../core/outbox.ts";
import { OUTCOMES, type Outcome } from "../core/outcome.ts";
import { ATTEMPT_VERDICTS, type AttemptVerdict } from "../core/timeline.ts";
import { Histogram, type HistogramCounts, increase } from "./histogram.ts";

/** What an object of an older layout says when a newer one asks it for a record; `failed`: nothing. */
export const ASK_ANSWERS = ["absent", "here", "failed"] as const;
export type AskAnswer = (typeof ASK_ANSWERS)[number];

/** What a destination of events is called among the routes. */
export function outboxRoute(destination: string): string {
  return `outbox:${destination}`;
}

/** As plain data. Arrays are in the order of `OUTCOMES`, `ATTEMPT_VERDICTS` and `ASK_ANSWERS`. */
export interface RouteNumbers {
  readonly route: string;
  readonly requests: readonly number[];
  readonly verdicts: readonly number[];
  /** The first attempts of their records, and all later attempts. */
  readonly attempts: readonly [first: number, again: number];
  /** Questions to older layouts. Code from before layouts sends neither this nor `moved`. */
  readonly asks?: readonly number[];
  /** Requests that were sent on to another layout. */
  readonly moved?: number;
  /** Accepted requests that were given up. Code from before those does not send it. */
  readonly givenUp?: number;
  /** Decisions about a queue's messages, in the order of `DELIVERY_DECISIONS`; only of queues. */
  readonly deliveries?: readonly number[];
  /** Its dead letters, in the order of `DEAD_REASONS`. */
  readonly deadLetters?: readonly number[];
  /** What consumers were told of their claims, in the order of `CLAIM_STATES`; only of groups. */
  readonly claims?: readonly number[];
  /** What became of events, in the order of `EVENT_FATES`; only of destinations. */
  readonly events?: readonly number[];
  readonly origin: HistogramCounts;
  readonly gateway: HistogramCounts;
}

/** How many exchanges of a route had an outcome: in total, and in each of the last `MINUTES`, with the current minute last. */
export interface OutcomeCounts {
  readonly route: string;
  readonly outcome: Outcome;
  readonly count: number;
  readonly perMinute: readonly number[];
}

export const MINUTES = 60;

const OUTCOME_INDEX = new Map<Outcome, number>(OUTCOMES.map((outcome, at) => [outcome, at]));
const VERDICT_INDEX = new Map<AttemptVerdict, number>(ATTEMPT_VERDICTS.map((verdict, at) => [verdict, at]));

export class RouteCounters {
  readonly #route: string;
  readonly #requests = new Float64Array(OUTCOMES.length);
  /** The same since the beginning; `take` does not reset it. */
  readonly #ever = new Float64Array(OUTCOMES.length);
  readonly #verdicts = new Float64Array(ATTEMPT_VERDICTS.length);
  /** A ring of minutes, each with a count for each outcome. */
  readonly #minutes = new Uint32Array(MINUTES * OUTCOMES.length);
  /** The current minute since the epoch; minutes that are `MINUTES` older are overwritten. */
  #minute = 0;
  #first = 0;
  #again = 0;
  readonly #asks = new Float64Array(ASK_ANSWERS.length);
  #moved = 0;
  #givenUp = 0;
  readonly #deliveries = new Float64Array(DELIVERY_DECISIONS.length);
  readonly #deadLetters = new Float64Array(DEAD_REASONS.length);
  readonly #claims = new Float64Array(CLAIM_STATES.length);
  readonly #events = new Float64Array(EVENT_FATES.length);
  #origin = new Histogram();
  #gateway = new Histogram();

  constructor(route: string) {
    this.#route = route;
  }

  request(outcome: Outcome, minute: number): void {
    const at = OUTCOME_INDEX.get(outcome) ?? 0;
    this.#count(at, 1, minute);
  }

  #count(at: number, times: number, minute: number): void {
    increase(this.#requests, at, times);
    increase(this.#ever, at, times);
    if (minute !== this.#minute) this.#moveTo(minute);
    increase(this.#minutes, (this.#minute % MINUTES) * OUTCOMES.length + at, times);
  }

  attempt(number: number): void {
    if (number === 1) this.#first += 1;
    else this.#again += 1;
  }

  verdict(verdict: AttemptVerdict): void {
    increase(this.#verdicts, VERDICT_INDEX.get(verdict) ?? 0);
  }

  asked(answer: AskAnswer): void {
    increase(this.#asks, ASK_ANSWERS.indexOf(answer));
  }

  moved(): void {
    this.#moved += 1;
  }

  givenUp(): void {
    this.#givenUp += 1;
  }

  delivered(decision: DeliveryDecision, reason: DeadReason | null): void {
    increase(this.#deliveries, DELIVERY_DECISIONS.indexOf(decision));
    if (reason !== null) this.died(reason);
  }

  died(reason: DeadReason): void {
    increase(this.#deadLetters, DEAD_REASONS.indexOf(reason));
  }

  claimed(state: ClaimState): void {
    increase(this.#claims, CLAIM_STATES.indexOf(state));
  }

  relayed(fate: EventFate, events: number): void {
    increase(this.#events, EVENT_FATES.indexOf(fate), events);
  }

  origin(ms: number): void {
    this.#origin.observe(ms);
  }

  gateway(ms: number): void {
    this.#gateway.observe(ms);
  }

  get numbers(): RouteNumbers {
    return {
      route: this.#route,
      requests: [...this.#requests],
      verdicts: [...this.#verdicts],
      attempts: [this.#first, this.#again],
      asks: [...this.#asks],
      moved: this.#moved,
      givenUp: this.#givenUp,
      ...this.#ofQueue,
      ...this.#ofGroup,
      ...(this.#events.some((count) => count > 0) ? { events: [...this.#events] } : {}),
      origin: this.#origin.counts,
      gateway: this.#gateway.counts,
    };
  }

  get #ofQueue(): Pick<RouteNumbers, "deliveries" | "deadLetters"> {
    const deliveries = [...this.#deliveries];
    return [...deliveries, ...this.#deadLetters].every((count) => count === 0)
      ? {}
      : { deliveries, deadLetters: [...this.#deadLetters] };
  }

  get #ofGroup(): Pick<RouteNumbers, "claims"> {
    const claims = [...this.#claims];
    return claims.every((count) => count === 0) ? {} : { claims };
  }

  /** The counts since the last call; `outcomes` still includes them. */
  take(): RouteNumbers {
    const { numbers } = this;
    this.#requests.fill(0);
    this.#verdicts.fill(0);
    this.#first = 0;
    this.#again = 0;
    this.#asks.fill(0);
    this.#moved = 0;
    this.#givenUp = 0;
    this.#deliveries.fill(0);
    this.#deadLetters.fill(0);
    this.#claims.fill(0);
    this.#events.fill(0);
    this.#origin = new Histogram();
    this.#gateway = new Histogram();
    return numbers;
  }

  /** Adds counts from elsewhere, as if all had come in `minute`. */
  add(numbers: RouteNumbers, minute: number): void {
    numbers.requests.forEach((count, at) => this.#count(at, count, minute));
    numbers.verdicts.forEach((count, at) => increase(this.#verdicts, at, count));
    this.#first += numbers.attempts[0];
    this.#again += numbers.attempts[1];
    numbers.asks?.forEach((count, at) => increase(this.#asks, at, count));
    this.#moved += numbers.moved ?? 0;
    this.#givenUp += numbers.givenUp ?? 0;
    numbers.deliveries?.forEach((count, at) => increase(this.#deliveries, at, count));
    numbers.deadLetters?.forEach((count, at) => increase(this.#deadLetters, at, count));
    numbers.claims?.forEach((count, at) => increase(this.#claims, at, count));
    numbers.events?.forEach((count, at) => increase(this.#events, at, count));
    this.#origin.add(numbers.origin);
    this.#gateway.add(numbers.gateway);
  }

  /** The outcomes that have occurred. */
  outcomes(minute: number): readonly OutcomeCounts[] {
    if (minute !== this.#minute) this.#moveTo(minute);
    return OUTCOMES.map((outcome, at) => ({
      route: this.#route,
      outcome,
      count: this.#ever[at] ?? 0,
      perMinute: Array.from(
        { length: MINUTES },
        (_, age) => this.#minutes[((this.#minute + 1 + age) % MINUTES) * OUTCOMES.length + at] ?? 0,
      ),
    })).filter(({ count }) => count > 0);
  }

  /** If the clock has gone back, counts stay in the latest minute that it had reached. */
  #moveTo(minute: number): void {
    const passed = Math.min(MINUTES, minute - this.#minute);
    for (let back = 0; back < passed; back += 1) {
      const begin = ((minute - back) % MINUTES) * OUTCOMES.length;
      this.#minutes.fill(0, begin, begin + OUTCOMES.length);
    }
    this.#minute = Math.max(minute, this.#minute);
  }
}

/** Whether anything was counted. */
export function isNothing({
  requests,
  verdicts,
  attempts,
  asks = [],
  moved = 0,
  givenUp = 0,
  deliveries = [],
  deadLetters = [],
  claims = [],
  events = [],
}: RouteNumbers): boolean {
  const lists = [requests, verdicts, attempts, asks, deliveries, deadLetters, claims, events];
  const counts = [moved, givenUp, ...lists.flat()];
  return !counts.some((count) => count > 0);
}
