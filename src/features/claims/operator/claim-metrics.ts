// The metrics of groups of consumers. Streams and partitions are the consumers' words, so the metrics are by group alone: their number is
// the operator's. `increase()` misses the first value of a new series, so every group has all its series from the first scrape on.

import { CONSUMER_LABEL } from "../../../kernel/record/claim.ts";
import { type GroupCounts, OPEN_CLAIM_STATES } from "../object/claim-list.ts";
import { countsOf, type RouteNumbers } from "../../../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../../../kernel/worker-feature.ts";
import { type MetricFamily, metricSample } from "../../../operator/exposition.ts";

export const claimsMetrics: MetricsFeature = {
  name: "claims",
  counted: claimAnswers,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the numbers of its own part in objects (object/consumer-calls.ts)
  held: (held, routes, now) => heldClaims(held as readonly (readonly GroupCounts[])[], routes, now),
};

function isGroup(route: string): boolean {
  return route.startsWith(CONSUMER_LABEL);
}

function groupOf(route: string): string {
  return route.slice(CONSUMER_LABEL.length);
}

function claimAnswers(totals: readonly RouteNumbers[]): readonly MetricFamily[] {
  return [
    {
      name: "onceway_claims_total",
      type: "counter",
      help: "What consumers were answered about their claims.",
      samples: totals
        .filter(({ route }) => isGroup(route))
        .flatMap((numbers) =>
          countsOf(numbers, "claims").map(([state, count]) =>
            metricSample({ group: groupOf(numbers.route), state }, count),
          ),
        ),
    },
  ];
}

/** `routes`: the configured ones. Sums over the shards. */
function heldClaims(
  shards: readonly (readonly GroupCounts[])[],
  routes: readonly string[],
  now: number,
): readonly MetricFamily[] {
  const all = shards.flat();
  const groups = [...new Set([...routes.filter(isGroup), ...all.map(({ route }) => route)])].map((route) => ({
    group: groupOf(route),
    counts: all.filter((one) => one.route === route),
  }));
  return [
    {
      name: "onceway_open_claims",
      type: "gauge",
      help: "Claims that are not completed, by state; each shard looks at up to 10000 records in flight, and as many failed or unknown.",
      samples: groups.flatMap(({ group, counts }) =>
        OPEN_CLAIM_STATES.map((state) =>
          metricSample(
            { group, state },
            counts.reduce((sum, one) => sum + one[state], 0),
          ),
        ),
      ),
    },
    {
      name: "onceway_positions",
      type: "gauge",
      help: "Partitions in which the group reads.",
      samples: groups.map(({ group, counts }) =>
        metricSample(
          { group },
          counts.reduce((sum, { partitions }) => sum + partitions, 0),
        ),
      ),
    },
    {
      name: "onceway_position_held_seconds",
      type: "gauge",
      help: "For how long the claim has been open that holds back a position longest; 0 when none does.",
      samples: groups.map(({ group, counts }) => {
        const ages = counts.map(({ heldSince }) => now - (heldSince ?? now));
        return metricSample({ group }, Math.max(0, ...ages) / 1000);
      }),
    },
  ];
}
