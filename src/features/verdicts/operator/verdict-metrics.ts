// The metric of bodies that decide.

import type { Route } from "../../../kernel/config/resolved.ts";
import { countedOrListed, countOf } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { metricSample } from "../../../operator/exposition.ts";

export function verdictMetrics(routes: readonly Pick<Route, "path" | "rules">[]): MetricsFeature {
  const paths = routes.flatMap(({ path, rules }) => (rules.uncompressed === true ? [path] : []));
  return {
    name: "verdicts",
    counted: (totals) => [
      {
        name: "onceway_unreadable_bodies_total",
        type: "counter",
        help: "Results whose bodies would have counted, and could not be read: their status decided.",
        samples: countedOrListed(totals, paths, (one) => countOf(one, "unreadable", "unreadable") > 0).map((one) =>
          metricSample({ route: one.route }, countOf(one, "unreadable", "unreadable")),
        ),
      },
    ],
  };
}
