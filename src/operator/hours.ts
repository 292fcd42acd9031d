// The last day as the API and the console show it: the hours of all shards, added up.

import { OUTCOMES, PREVENTED } from "../kernel/record/outcome.ts";
import type { HourOfShard } from "../kernel/object/kept-counts.ts";
import { type HistogramCounts, quantileMs } from "../kernel/traffic/histogram.ts";
import { addedUp, countOf, type RouteNumbers, sumOf } from "../kernel/traffic/route-counters.ts";
import type { HoursView, RouteHourView } from "./hours-schema.ts";

export function viewHours(shards: readonly (readonly HourOfShard[])[]): HoursView["hours"] {
  return [...Map.groupBy(shards.flat(), ({ at }) => at)]
    .toSorted(([one], [other]) => one - other)
    .map(([at, hours]) => ({ at: new Date(at).toISOString(), routes: viewRoutes(hours) }))
    .filter(({ routes }) => routes.length > 0);
}

function viewRoutes(hours: readonly HourOfShard[]): readonly RouteHourView[] {
  return addedUp(hours.flatMap(({ routes }) => routes))
    .filter((numbers) => sumOf(numbers, "requests") > 0)
    .map(viewRoute)
    .toSorted((one, other) => one.route.localeCompare(other.route));
}

function viewRoute(numbers: RouteNumbers): RouteHourView {
  const { route, origin, gateway } = numbers;
  return {
    route,
    requests: sumOf(numbers, "requests"),
    prevented: PREVENTED.reduce(
      (sum, outcome) => sum + countOf(numbers, "requests", outcome),
      -sumOf(numbers, "reached"),
    ),
    outcomes: OUTCOMES.flatMap((outcome) => {
      const count = countOf(numbers, "requests", outcome);
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
