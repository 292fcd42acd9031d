// Everything that was counted in some time: the numbers of each route, and the replays of records.

import { isPrevented } from "../record/outcome.ts";
import type { RecordReplays } from "./replay-counts.ts";
import { ReplayCounts } from "./replay-counts.ts";
import { type CountedKind, type CountedName, RouteCounters, type RouteNumbers } from "./route-counters.ts";
import type { ExchangeReport } from "./traffic.ts";

/** As plain data. */
export interface TallyCounts {
  readonly routes: readonly RouteNumbers[];
  readonly replays: readonly RecordReplays[];
}

export class TrafficTally {
  readonly #routes = new Map<string, RouteCounters>();
  readonly #replays = new ReplayCounts();

  get isEmpty(): boolean {
    return this.#routes.size === 0;
  }

  exchange(report: ExchangeReport, now: number): void {
    const counters = this.#countersOf(report.route);
    counters.count("requests", report.outcome);
    if (report.originMs !== null && isPrevented(report.outcome)) counters.count("reached", report.outcome);
    const ofOrigin = originMs(report);
    if (ofOrigin !== null) counters.origin(ofOrigin);
    counters.gateway(gatewayMs(report));
    this.#replays.exchange(report, now);
  }

  count<C extends CountedKind>(route: string, what: C, name: CountedName<C>, times = 1): void {
    this.#countersOf(route).count(what, name, times);
  }

  hop(route: string, ms: number): void {
    this.#countersOf(route).hop(ms);
  }

  add({ routes, replays }: TallyCounts): void {
    for (const numbers of routes) this.#countersOf(numbers.route).add(numbers);
    this.#replays.add(replays);
  }

  get routes(): readonly RouteNumbers[] {
    return [...this.#routes.values()].map(({ numbers }) => numbers);
  }

  get replays(): readonly RecordReplays[] {
    return this.#replays.all;
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
function originMs({ originMs: ms, outcome }: ExchangeReport): number | null {
  return outcome === "origin-unreachable" ? null : ms;
}

/** The rest of it, without waiting for others. */
function gatewayMs({ durationMs, originMs: ms, waitedMs }: ExchangeReport): number {
  return Math.max(0, durationMs - (ms ?? 0) - waitedMs);
}
