// The metric of bodies that decide. Every route with rules has its series from the first scrape on, because `increase()` misses the first value of
// a new one.

import type { Route } from "../../../kernel/config/resolved.ts";
import { countOf, RouteCounters, type RouteNumbers } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { type MetricFamily, metricSample } from "../../../operator/exposition.ts";

export function verdictMetrics(routes: readonly Pick<Route, "path" | "rules">[]): MetricsFeature {
  const own = [...new Set(routes.flatMap(({ path, rules }) => (rules.uncompressed === true ? [path] : [])))];
  return { name: "verdicts", counted: (totals) => [unreadableFamily(own, totals)] };
}

function unreadableFamily(own: readonly string[], totals: readonly RouteNumbers[]): MetricFamily {
  const counted = totals.filter((one) => countOf(one, "unreadable", "unreadable") > 0);
  const missing = own.filter((path) => !counted.some(({ route }) => route === path));
  return {
    name: "onceway_unreadable_bodies_total",
    type: "counter",
    help: "Results whose bodies would have counted, and could not be read: their status decided.",
    samples: [...counted, ...missing.map((path) => new RouteCounters(path).numbers)].map((one) =>
      metricSample({ route: one.route }, countOf(one, "unreadable", "unreadable")),
    ),
  };
}
