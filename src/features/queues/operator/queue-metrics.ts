// The metrics of queues, counted by queue. Every queue has all its series from the first scrape on.

import { type CountedKind, countsOf, type RouteNumbers } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { type MetricFamily, metricSample } from "../../../operator/exposition.ts";

export const queueMetrics: MetricsFeature = { name: "queues", counted: queueFamilies };

/** A queue is called `queue:NAME` among the routes. */
const QUEUE = /^queue:/;

function queueFamilies(totals: readonly RouteNumbers[]): readonly MetricFamily[] {
  const queues = totals.filter(({ route }) => QUEUE.test(route));
  const ofQueues = (name: string, help: string, what: CountedKind, label: string): MetricFamily => ({
    name: `onceway_${name}`,
    type: "counter",
    help,
    samples: queues.flatMap((numbers) =>
      countsOf(numbers, what).map(([counted, count]) =>
        metricSample({ queue: numbers.route.replace(QUEUE, ""), [label]: counted }, count),
      ),
    ),
  });
  return [
    ofQueues("deliveries_total", "Deliveries of queue messages, by what was decided.", "deliveries", "decision"),
    ofQueues("dead_letters_total", "Dead letters sent, by reason.", "deadLetters", "reason"),
  ];
}
