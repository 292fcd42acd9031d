// The metrics with unit and meaning (src/kernel/traffic/README.md), made from the shards' numbers. Names follow Prometheus: base
// units, `_total` for counters. Events are counted by route and not by shard: 64 shards with 30 routes would be 115,000
// series, each of which must exist before it counts.

import { BOUNDS_MS, type HistogramCounts } from "../kernel/traffic/histogram.ts";
import {
  type CountedKind,
  countsOf,
  RouteCounters,
  type RouteNumbers,
  sumOf,
} from "../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../kernel/worker-feature.ts";
import { type MetricFamily, type MetricType, type MetricSample, metricSample } from "./exposition.ts";
import { askedFamilies, layoutFamily, type ScrapedObjects, shardFamilies } from "./shard-metrics.ts";

export interface MetricsScrape extends ScrapedObjects {
  /** What all shards have counted; `null` when the shard that adds it up did not answer. */
  readonly totals: readonly RouteNumbers[] | null;
  /** The configured routes' paths. Each has all its counters from the first scrape on, even before its first request. */
  readonly routes: readonly string[];
  /**
   * False when every key has its own object. Those cannot be asked, so numbers of the others would look like all there is and
   * are left out.
   */
  readonly keepRecords: boolean;
  /** Whether each shard of a small layout has its own series of every gauge. Otherwise, only those have that an alert names shards by. */
  readonly isByShard: boolean;
  readonly features: readonly MetricsFeature[];
}

export function metricFamilies({
  totals,
  routes,
  keepRecords,
  isByShard,
  features,
  ...scraped
}: MetricsScrape): readonly MetricFamily[] {
  const all = totals === null ? [] : withEachRoute(totals, routes);
  const isRoute = ({ route }: RouteNumbers): boolean => !features.some(({ isOwn }) => isOwn?.(route) === true);
  const traffic = totals === null ? [] : trafficFamilies(all.filter(isRoute));
  // Backwards: in the text, events come last.
  const counted = totals === null ? [] : features.toReversed().flatMap((feature) => feature.counted(all));
  const now = Date.now();
  const { shards, gathered } = scraped;
  // A sum over no answer would look like 0.
  const hasAnswers = shards.length > 0 || gathered.some(({ together }) => together.length > 0);
  const held =
    keepRecords && hasAnswers
      ? [
          ...shardFamilies(scraped, isByShard),
          layoutFamily(scraped),
          ...features.flatMap(({ name, held: families }) =>
            families === undefined
              ? []
              : families(
                  [
                    ...shards.map(({ numbers }) => numbers.features[name]),
                    ...gathered.flatMap((one) => one.features[name]?.map((shard) => shard.held) ?? []),
                  ],
                  routes,
                  now,
                ),
          ),
        ]
      : [];
  return [...traffic, ...counted, ...held, ...askedFamilies(scraped, now)];
}

/** `increase()` misses the first value of a new series, so each starts with 0. */
function withEachRoute(totals: readonly RouteNumbers[], routes: readonly string[]): readonly RouteNumbers[] {
  const known = new Set(totals.map(({ route }) => route));
  const unused = routes.filter((route) => !known.has(route));
  return [...totals, ...unused.map((route) => new RouteCounters(route).numbers)];
}

function trafficFamilies(totals: readonly RouteNumbers[]): readonly MetricFamily[] {
  const ofRoutes = (
    name: string,
    type: MetricType,
    help: string,
    samples: (labels: { readonly route: string }, numbers: RouteNumbers) => readonly MetricSample[],
  ): MetricFamily => ({
    name: `onceway_${name}`,
    type,
    help,
    samples: totals.flatMap((numbers) => samples({ route: numbers.route }, numbers)),
  });
  const byName = (name: string, help: string, what: CountedKind, label: string): MetricFamily =>
    ofRoutes(name, "counter", help, (labels, numbers) =>
      countsOf(numbers, what).map(([counted, count]) => metricSample({ ...labels, [label]: counted }, count)),
    );
  const together = (name: string, help: string, what: CountedKind): MetricFamily =>
    ofRoutes(name, "counter", help, (labels, numbers) => [metricSample(labels, sumOf(numbers, what))]);
  return [
    byName("requests_total", "Requests answered, by route and outcome.", "requests", "outcome"),
    byName("attempts_total", "Attempts started: the first of a record, or again.", "attempts", "kind"),
    byName("verdicts_total", "Attempts ended, by verdict.", "verdicts", "verdict"),
    ofRoutes(
      "findings_total",
      "counter",
      "What came of asking the origin about attempts whose outcome was unknown.",
      (labels, numbers) =>
        countsOf(numbers, "findings")
          // A route that asks nothing has one series: an alert looks at it.
          .filter(([finding]) => finding === "doubled" || sumOf(numbers, "findings") > 0)
          .map(([finding, count]) => metricSample({ ...labels, finding }, count)),
    ),
    byName(
      "elsewhere_total",
      "Requests without a record here whose keys begin in another layout.",
      "elsewhere",
      "answer",
    ),
    together("given_up_total", "Accepted requests that were given up without a result.", "givenUp"),
    ofRoutes(
      "origin_seconds",
      "histogram",
      "From the call to the origin to the headers of its response.",
      (labels, { origin }) => histogram(labels, origin),
    ),
    ofRoutes(
      "gateway_seconds",
      "histogram",
      "Time of an exchange in its shard without the origin's, and without waiting for others.",
      (labels, { gateway }) => histogram(labels, gateway),
    ),
    ofRoutes(
      "hop_seconds",
      "histogram",
      "Way from the Worker to the shard and back; of one request of a route in a second, or of each with server_timing.",
      // Only routes that have been measured: a histogram of samples counts nothing.
      (labels, { hop }) => (hop === undefined ? [] : histogram(labels, hop)),
    ),
  ];
}

function histogram(labels: MetricSample["labels"], { counts, sumMs }: HistogramCounts): readonly MetricSample[] {
  let sum = 0;
  const bins = counts.map((count, at) => {
    const bound = BOUNDS_MS[at];
    sum += count;
    return metricSample({ ...labels, le: bound === undefined ? "+Inf" : String(bound / 1000) }, sum, "_bucket");
  });
  return [...bins, metricSample(labels, sumMs / 1000, "_sum"), metricSample(labels, sum, "_count")];
}
