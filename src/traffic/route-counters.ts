// The numbers of one route. They live in memory and are never written: an object that is evicted begins at zero again, which
// is an ordinary reset of a counter to whoever collects them.

import { OUTCOMES, type Outcome } from "../core/outcome.ts";
import { ATTEMPT_VERDICTS, type AttemptVerdict } from "../core/timeline.ts";
import { Histogram, type HistogramCounts, increase } from "./histogram.ts";

/** As plain data. Arrays are in the order of `OUTCOMES` and `ATTEMPT_VERDICTS`. */
export interface RouteNumbers {
  readonly route: string;
  readonly requests: readonly number[];
  readonly verdicts: readonly number[];
  /** First ones of their record, and those after them. */
  readonly attempts: readonly [first: number, again: number];
  readonly origin: HistogramCounts;
  readonly gateway: HistogramCounts;
}

/** How many exchanges of a route ended so, in all and in each of the last `MINUTES`, the present one last. */
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
  readonly #verdicts = new Float64Array(ATTEMPT_VERDICTS.length);
  /** A ring of minutes, each with a count for each outcome. */
  readonly #minutes = new Uint32Array(MINUTES * OUTCOMES.length);
  /** Minutes since the epoch; what lies `MINUTES` before it is overwritten. */
  #minute = 0;
  #first = 0;
  #again = 0;
  readonly #origin = new Histogram();
  readonly #gateway = new Histogram();
  /** As they stood when what is new was last taken. */
  #taken: RouteNumbers;

  constructor(route: string) {
    this.#route = route;
    this.#taken = this.numbers;
  }

  request(outcome: Outcome, minute: number): void {
    const at = OUTCOME_INDEX.get(outcome) ?? 0;
    increase(this.#requests, at);
    if (minute !== this.#minute) this.#moveTo(minute);
    increase(this.#minutes, (this.#minute % MINUTES) * OUTCOMES.length + at);
  }

  attempt(number: number): void {
    if (number === 1) this.#first += 1;
    else this.#again += 1;
  }

  verdict(verdict: AttemptVerdict): void {
    increase(this.#verdicts, VERDICT_INDEX.get(verdict) ?? 0);
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
      origin: this.#origin.counts,
      gateway: this.#gateway.counts,
    };
  }

  /** What has been counted since this was last called. */
  takeNew(): RouteNumbers {
    const { numbers } = this;
    const since = difference(numbers, this.#taken);
    this.#taken = numbers;
    return since;
  }

  /** What was counted elsewhere, as if all of it had come in `minute`. */
  add(numbers: RouteNumbers, minute: number): void {
    if (minute !== this.#minute) this.#moveTo(minute);
    numbers.requests.forEach((count, at) => {
      increase(this.#requests, at, count);
      increase(this.#minutes, (this.#minute % MINUTES) * OUTCOMES.length + at, count);
    });
    numbers.verdicts.forEach((count, at) => increase(this.#verdicts, at, count));
    this.#first += numbers.attempts[0];
    this.#again += numbers.attempts[1];
    this.#origin.add(numbers.origin);
    this.#gateway.add(numbers.gateway);
  }

  /** Those outcomes that have come at all. */
  outcomes(minute: number): readonly OutcomeCounts[] {
    if (minute !== this.#minute) this.#moveTo(minute);
    return OUTCOMES.map((outcome, at) => ({
      route: this.#route,
      outcome,
      count: this.#requests[at] ?? 0,
      perMinute: Array.from(
        { length: MINUTES },
        (_, age) => this.#minutes[((this.#minute + 1 + age) % MINUTES) * OUTCOMES.length + at] ?? 0,
      ),
    })).filter(({ count }) => count > 0);
  }

  /** A clock that has gone back counts in the minute that it had reached. */
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
export function isNothing({ requests, verdicts, attempts }: RouteNumbers): boolean {
  return [...requests, ...verdicts, ...attempts].every((count) => count === 0);
}

function difference(now: RouteNumbers, before: RouteNumbers): RouteNumbers {
  const [first, again] = before.attempts;
  return {
    route: now.route,
    requests: minus(now.requests, before.requests),
    verdicts: minus(now.verdicts, before.verdicts),
    attempts: [now.attempts[0] - first, now.attempts[1] - again],
    origin: histogramDifference(now.origin, before.origin),
    gateway: histogramDifference(now.gateway, before.gateway),
  };
}

function histogramDifference(now: HistogramCounts, before: HistogramCounts): HistogramCounts {
  return { counts: minus(now.counts, before.counts), sumMs: now.sumMs - before.sumMs };
}

function minus(now: readonly number[], before: readonly number[]): readonly number[] {
  return now.map((count, at) => count - (before[at] ?? 0));
}
