// The last day as the API and the console show it: the hours of all shards, added up.

import { OUTCOMES, PREVENTED } from "../core/outcome.ts";
import { type HistogramCounts, quantileMs } from "../traffic/histogram.ts";
import { type HourCounts, HourlyCounts, type RouteHour } from "../traffic/hour-counts.ts";
import type { HourOfShard } from "../shard/hours.ts";
import type { HoursView, RouteHourView } from "./hours-schema.ts";

export function viewHours(shards: readonly (readonly HourOfShard[])[]): HoursView["hours"] {
  const sums = new Map<number, HourlyCounts>();
  for (const { at, routes } of shards.flat()) {
    const sum = sums.get(at) ?? new HourlyCounts();
    sum.addHour({ routes, replays: [] });
    sums.set(at, sum);
  }
  return [...sums]
    .toSorted(([one], [other]) => one - other)
    .map(([at, { counts }]) => ({ at: new Date(at).toISOString(), routes: viewRoutes(counts) }));
}

function viewRoutes({ routes }: HourCounts): readonly RouteHourView[] {
  return routes.map(viewRoute).toSorted((one, other) => one.route.localeCompare(other.route));
}

function viewRoute({ route, outcomes, origin, gateway }: RouteHour): RouteHourView {
  return {
    route,
    requests: Object.values(outcomes).reduce((sum, count) => sum + count, 0),
    prevented: PREVENTED.reduce((sum, outcome) => sum + (outcomes[outcome] ?? 0), 0),
    outcomes: OUTCOMES.flatMap((outcome) => {
      const count = outcomes[outcome] ?? 0;
      return count === 0 ? [] : [{ outcome, count }];
    }),
    origin: viewTimes(origin),
    gateway: viewTimes(gateway),
  };
}

function viewTimes(times: HistogramCounts): RouteHourView["origin"] {
  const count = times.counts.reduce((sum, one) => sum + one, 0);
  const meanMs = count === 0 ? null : Math.round((10 * times.sumMs) / count) / 10;
  return { count, meanMs, p50Ms: quantileMs(times, 0.5), p95Ms: quantileMs(times, 0.95) };
}
