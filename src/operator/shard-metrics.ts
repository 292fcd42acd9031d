// The metrics of what shards hold. Whatever is only added up, or compared for its largest, has one series for all of them: each line is read
// at every scrape and kept by Prometheus. By shard is what an alert names shards by.

import type { ShardNumbers } from "../kernel/object/operator-calls.ts";
import { sumOf as sumOfCounts } from "../kernel/traffic/route-counters.ts";
import { type MetricFamily, type MetricType, metricSample } from "./exposition.ts";
import { OBJECT_STATES, objectState } from "./layouts.ts";

/** One shard's numbers; `null` when it did not answer. */
export interface ScrapedShard {
  readonly shard: string;
  readonly layout: string;
  readonly numbers: ShardNumbers | null;
}

export interface AnsweredScrape extends ScrapedShard {
  readonly numbers: ShardNumbers;
}

export function shardFamilies(answered: readonly AnsweredScrape[], isByShard: boolean): readonly MetricFamily[] {
  const { ofShards, together } = familyMakers(answered, isByShard);
  return [
    together("calls_in_flight", "Attempts that run now.", sumOf, ({ callsInFlight }) => callsInFlight),
    ofShards(
      "calls_queued_total",
      "counter",
      "Attempts started while six or more others ran: the platform may have queued their calls.",
      ({ routes }) => routes.reduce((sum, numbers) => sum + sumOfCounts(numbers, "queued"), 0),
    ),
    recordsFamily(answered, isByShard),
    ofShards(
      "oldest_attempt_seconds",
      "gauge",
      "Age of the oldest attempt in flight; 0 without one.",
      ({ oldestMs }) => oldestMs / 1000,
    ),
    together(
      "oldest_unknown_seconds",
      "Age of the oldest attempt whose outcome is unknown; 0 without one.",
      largestOf,
      ({ oldestUnknownMs }) => oldestUnknownMs / 1000,
    ),
    ofShards(
      "oldest_waiting_seconds",
      "gauge",
      "For how long the accepted request that is due longest has been due; 0 when none is.",
      ({ oldestWaitingMs }) => oldestWaitingMs / 1000,
    ),
    together(
      "places_taken",
      "Attempts of accepted requests that run now, at most 4 in a shard.",
      sumOf,
      ({ placesTaken }) => placesTaken,
    ),
    together(
      "counts_unwritten",
      "Shards that could not write what they have counted: a crash would lose it.",
      sumOf,
      ({ isUnwritten }) => (isUnwritten ? 1 : 0),
    ),
    ofShards("shard_size_bytes", "gauge", "Size of the shard's database.", ({ bytes }) => bytes),
    ofShards(
      "alarm_lag_seconds",
      "gauge",
      "For how long the alarm's most overdue work has been due; 0 when none is.",
      ({ overdueMs }) => overdueMs / 1000,
    ),
  ];
}

/** Makes the families of gauges and counters that each shard has. */
function familyMakers(answered: readonly AnsweredScrape[], isByShard: boolean) {
  const ofShards = (
    name: string,
    type: MetricType,
    help: string,
    value: (numbers: ShardNumbers) => number,
  ): MetricFamily => ({
    name: `onceway_${name}`,
    type,
    help,
    samples: answered.map(({ shard, numbers }) => metricSample({ shard }, value(numbers))),
  });
  /** One series for all shards. `sum` and `max` over it are the same as over one for each shard. */
  const together = (
    name: string,
    help: string,
    combine: (values: readonly number[]) => number,
    value: (numbers: ShardNumbers) => number,
  ): MetricFamily =>
    isByShard
      ? ofShards(name, "gauge", help, value)
      : {
          name: `onceway_${name}`,
          type: "gauge",
          help,
          samples: [metricSample({}, combine(answered.map(({ numbers }) => value(numbers))))],
        };
  return { ofShards, together };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function largestOf(values: readonly number[]): number {
  return Math.max(0, ...values);
}

function recordsFamily(answered: readonly AnsweredScrape[], isByShard: boolean): MetricFamily {
  const counts = answered.map(({ shard, numbers: { inFlight: started, waiting, failed, unknown } }) => ({
    shard,
    states: { started, waiting, failed, unknown },
  }));
  const samples = COUNTED.flatMap((state) =>
    isByShard
      ? counts.map(({ shard, states }) => metricSample({ shard, state }, states[state]))
      : [metricSample({ state }, sumOf(counts.map(({ states }) => states[state])))],
  );
  return {
    name: "onceway_records",
    type: "gauge",
    help: "Records that are not completed, by state; each shard counts up to 10000 waiting, failed and unknown ones.",
    samples,
  };
}

const COUNTED = ["started", "waiting", "failed", "unknown"] as const;

/** Every layout has all its states, so that a sum over them is the number of objects that answered. */
export function layoutFamily(answered: readonly AnsweredScrape[]): MetricFamily {
  const samples = [...new Set(answered.map(({ layout }) => layout))].flatMap((layout) => {
    const states = answered.filter((one) => one.layout === layout).map(({ numbers }) => objectState(numbers));
    return OBJECT_STATES.map((state) => metricSample({ layout, state }, states.filter((one) => one === state).length));
  });
  return {
    name: "onceway_layout_objects",
    type: "gauge",
    help: "Objects of a layout: in open ones keys begin, closed ones still hold something, empty ones are closed and hold nothing.",
    samples,
  };
}
