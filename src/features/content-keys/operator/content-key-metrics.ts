// The metrics of keys from content.

import type { Route } from "../../../kernel/config/resolved.ts";
import { countedOrListed, countsOf } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { metricSample } from "../../../operator/exposition.ts";

export function contentKeyMetrics(routes: readonly Pick<Route, "path" | "contentKey">[]): MetricsFeature {
  const paths = routes.flatMap(({ path, contentKey }) => (contentKey === null ? [] : [path]));
  return {
    name: "content-keys",
    counted: (totals) => [
      {
        name: "onceway_content_keys_total",
        type: "counter",
        help: "Requests whose keys were made from their content, by whether they began an operation, repeated one, or had other content under its members.",
        samples: countedOrListed(totals, paths, ({ counts }) => counts.contentKeys !== undefined).flatMap((one) =>
          countsOf(one, "contentKeys").map(([use, count]) => metricSample({ route: one.route, use }, count)),
        ),
      },
    ],
  };
}
