// The metrics of keys from content. Every route that makes such keys has all its series from the first scrape on, because `increase()` misses the first
// value of a new one.

import type { Route } from "../../../kernel/config/resolved.ts";
import { countsOf, RouteCounters, type RouteNumbers } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { type MetricFamily, metricSample } from "../../../operator/exposition.ts";

export function contentKeyMetrics(routes: readonly Pick<Route, "path" | "contentKey">[]): MetricsFeature {
  const paths = [...new Set(routes.flatMap(({ path, contentKey }) => (contentKey === null ? [] : [path])))];
  return { name: "content-keys", counted: (totals) => [family(paths, totals)] };
}

function family(paths: readonly string[], totals: readonly RouteNumbers[]): MetricFamily {
  const counted = totals.filter(({ counts }) => counts.contentKeys !== undefined);
  const missing = paths.filter((path) => !counted.some(({ route }) => route === path));
  const all = [...counted, ...missing.map((path) => new RouteCounters(path).numbers)];
  return {
    name: "onceway_content_keys_total",
    type: "counter",
    help: "Requests whose keys were made from their content, by whether they began an operation, repeated one, or had other content under its members.",
    samples: all.flatMap((one) =>
      countsOf(one, "contentKeys").map(([use, count]) => metricSample({ route: one.route, use }, count)),
    ),
  };
}
