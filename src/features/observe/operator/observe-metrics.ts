// The metrics of routes on trial.

import type { Route } from "../../../kernel/config/resolved.ts";
import { countedOrListed, countsOf, type RouteNumbers } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { type MetricFamily, metricSample } from "../../../operator/exposition.ts";

export function observeMetrics(routes: readonly Pick<Route, "path" | "trial">[]): MetricsFeature {
  const paths = routes.flatMap(({ path, trial }) => (trial === null ? [] : [path]));
  return { name: "observe", counted: (totals) => families(paths, totals) };
}

function families(paths: readonly string[], totals: readonly RouteNumbers[]): readonly MetricFamily[] {
  const all = countedOrListed(totals, paths, ({ counts }) => counts.sightings !== undefined);
  return [
    {
      name: "onceway_observed_total",
      type: "counter",
      help: "Requests of routes on trial, by what they would have been.",
      samples: all.flatMap((one) =>
        countsOf(one, "sightings").map(([name, count]) => metricSample({ route: one.route, class: name }, count)),
      ),
    },
    {
      name: "onceway_observed_effects_total",
      type: "counter",
      help: "Repeats of successful requests on routes on trial, by what the API's answers say of effects.",
      samples: all.flatMap((one) =>
        countsOf(one, "effects").map(([evidence, count]) => metricSample({ route: one.route, evidence }, count)),
      ),
    },
  ];
}
