// What happened in an hour: outcomes and times by route, and the replays of records. Outcomes go by their names, because these counts
// are stored, and read by other versions.

import { OUTCOMES, type Outcome } from "../core/outcome.ts";
import { BOUNDS_MS, Histogram, type HistogramCounts } from "./histogram.ts";
import { type RecordReplays, ReplayCounts } from "./replay-counts.ts";
import { type ExchangeReport, gatewayMs, originMs, type TrafficBatch, type TrafficWatch } from "./traffic.ts";

export interface RouteHour {
  readonly route: string;
  /** Those that have occurred. */
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  /** From the call to the origin until its headers. */
  readonly origin: HistogramCounts;
  /** The rest of an exchange, without waiting for others. */
  readonly gateway: HistogramCounts;
}

export interface HourCounts {
  readonly routes: readonly RouteHour[];
  readonly replays: readonly RecordReplays[];
}

class RouteCounts {
  readonly outcomes = new Map<Outcome, number>();
  readonly origin = new Histogram();
  readonly gateway = new Histogram();

  count(outcome: Outcome, times: number): void {
    if (times > 0) this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + times);
  }
}

export class HourlyCounts implements TrafficWatch {
  #routes = new Map<string, RouteCounts>();
  readonly #replays = new ReplayCounts();

  get isEmpty(): boolean {
    return this.#routes.size === 0 && this.#replays.all.length === 0;
  }

  exchange(report: ExchangeReport, now: number): void {
    const counts = this.#countsOf(report.route);
    counts.count(report.outcome, 1);
    const ofOrigin = originMs(report);
    if (ofOrigin !== null) counts.origin.observe(ofOrigin);
    counts.gateway.observe(gatewayMs(report));
    this.#replays.exchange(report, now);
  }

  passed(route: string): void {
    this.#countsOf(route).count("passed-through", 1);
  }

  add(batch: TrafficBatch): void {
    for (const { route, requests, origin, gateway } of batch.routes) {
      const counts = this.#countsOf(route);
      for (const [at, outcome] of OUTCOMES.entries()) counts.count(outcome, requests[at] ?? 0);
      counts.origin.add(origin);
      counts.gateway.add(gateway);
    }
    this.#replays.add(batch);
  }

  /** Counts of the same hour from elsewhere. */
  addHour({ routes, replays }: HourCounts): void {
    for (const { route, outcomes, origin, gateway } of routes) {
      const counts = this.#countsOf(route);
      for (const outcome of OUTCOMES) counts.count(outcome, outcomes[outcome] ?? 0);
      // Another version may have had other bounds.
      if (isOfNow(origin)) counts.origin.add(origin);
      if (isOfNow(gateway)) counts.gateway.add(gateway);
    }
    this.#replays.add({ replays });
  }

  get counts(): HourCounts {
    const routes = [...this.#routes].map(([route, { outcomes, origin, gateway }]) => ({
      route,
      outcomes: Object.fromEntries(outcomes),
      origin: origin.counts,
      gateway: gateway.counts,
    }));
    return { routes, replays: this.#replays.all };
  }

  take(): HourCounts {
    const { counts } = this;
    this.#routes = new Map();
    this.#replays.take();
    return counts;
  }

  #countsOf(route: string): RouteCounts {
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      counts = new RouteCounts();
      this.#routes.set(route, counts);
    }
    return counts;
  }
}

function isOfNow({ counts }: HistogramCounts): boolean {
  return counts.length === BOUNDS_MS.length + 1;
}
