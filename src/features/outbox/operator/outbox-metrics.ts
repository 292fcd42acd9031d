// The metrics of the outbox: what became of events, counted by destination, and what is left of them. `increase()` misses the first
// value of a new series, so every configured destination has all its series from the first scrape on.

import { ALL_LANES } from "../../../kernel/record/outbox.ts";
import type { DestinationCounts } from "../object/list.ts";
import { countsOf, outboxRoute, type RouteNumbers } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { type MetricFamily, metricSample } from "../../../operator/exposition.ts";

const PREFIX = outboxRoute("");

export const outboxMetrics: MetricsFeature = {
  name: "outbox",
  isOwn: isOutbox,
  counted: (totals) => relayedEvents(totals.filter(({ route }) => isOutbox(route))),
  held: (held, routes, now) =>
    heldEvents(
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the numbers of its own part in objects (object/feature.ts)
      held as readonly (readonly DestinationCounts[])[],
      routes.filter(isOutbox).map(destinationOf),
      now,
    ),
};

/** Whether these numbers are a destination's. */
function isOutbox(route: string): boolean {
  return route.startsWith(PREFIX);
}

function destinationOf(route: string): string {
  return route.slice(PREFIX.length);
}

function relayedEvents(totals: readonly RouteNumbers[]): readonly MetricFamily[] {
  return [
    {
      name: "onceway_events_total",
      type: "counter",
      help: "Events by what became of them: relayed, failed (a try), dead, erased.",
      samples: totals.flatMap((numbers) =>
        countsOf(numbers, "events").map(([result, count]) =>
          metricSample({ destination: destinationOf(numbers.route), result }, count),
        ),
      ),
    },
  ];
}

/** `known`: the configured destinations. Sums over the shards. */
function heldEvents(
  shards: readonly (readonly DestinationCounts[])[],
  known: readonly string[],
  now: number,
): readonly MetricFamily[] {
  const all = shards.flat();
  const names = [...new Set([...known, ...all.map(({ destination }) => destination)])];
  const of = (name: string): readonly DestinationCounts[] => all.filter(({ destination }) => destination === name);
  return [
    {
      name: "onceway_outbox",
      type: "gauge",
      help: "Events that are left, by state; each shard counts up to 10000 of each.",
      samples: names.flatMap((destination) =>
        (["pending", "dead"] as const).map((state) =>
          metricSample(
            { destination, state },
            of(destination).reduce((sum, counts) => sum + counts[state], 0),
          ),
        ),
      ),
    },
    {
      name: "onceway_outbox_oldest_seconds",
      type: "gauge",
      help: "For how long the oldest pending event has waited; 0 without one.",
      samples: names.map((destination) => {
        const ages = of(destination).map(({ oldestPending }) => now - (oldestPending ?? now));
        return metricSample({ destination }, Math.max(0, ...ages) / 1000);
      }),
    },
    {
      name: "onceway_outbox_resting_lanes",
      type: "gauge",
      help: `Lanes that rest because their events were not taken; ${ALL_LANES} for each shard in which the destination itself does not answer.`,
      samples: names.map((destination) =>
        metricSample(
          { destination },
          of(destination).reduce((sum, { resting }) => sum + (resting?.lanes ?? 0), 0),
        ),
      ),
    },
  ];
}
