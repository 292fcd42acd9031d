// The metrics of what shards hold. Whatever is only added up, or compared for its largest, has one series for all of them: each line is read
// at every scrape and kept by Prometheus. By shard is what an alert names shards by; of a large layout, that has one series for all of its shards.

import { type GatherAnswer, placesTogether, type ShardsTogether } from "../kernel/object/gathering.ts";
import type { ShardNumbers } from "../kernel/object/operator-calls.ts";
import { type RouteNumbers, sumOf as sumOfCounts } from "../kernel/traffic/route-counters.ts";
import type { UnreachableObject } from "./ask-shards.ts";
import { type MetricFamily, metricSample } from "./exposition.ts";
import type { NotAskedView } from "./schema-members.ts";
import { OBJECT_STATES, objectState } from "./layouts.ts";

/** What a scrape has heard. */
export interface ScrapedObjects {
  /** Those that answered. */
  readonly shards: readonly ScrapedShard[];
  readonly gathered: readonly ScrapedGathering[];
  readonly unreachable: readonly UnreachableObject[];
  readonly notAsked: NotAskedView;
}

export interface ScrapedShard {
  readonly shard: string;
  readonly layout: string;
  readonly numbers: ShardNumbers;
}

/** Shards of a large layout. */
export interface ScrapedGathering extends Pick<GatherAnswer, "together" | "features" | "counters"> {
  readonly layout: string;
}

/** Numbers of one shard, or of several of a large layout. */
interface LabelledNumbers {
  /** Its name, as alerts show it; of a large layout `one-of-4096`. */
  readonly shard: string;
  readonly layout: string;
  readonly numbers: Omit<ShardsTogether, "objects">;
  readonly objects: number;
}

type ValueOf = (numbers: LabelledNumbers["numbers"]) => number;

/** So many unreachable shards are named at most: each name is a series. */
const MOST_NAMED = 100;

export function shardFamilies(scraped: ScrapedObjects, isByShard: boolean): readonly MetricFamily[] {
  const all = labelled(scraped);
  const ofShards = (name: string, help: string, value: ValueOf): MetricFamily =>
    gauge(
      name,
      help,
      byLabels(all, (some) => largestOf(some.map(({ numbers }) => value(numbers)))),
    );
  /** One series for all shards. `sum` and `max` over it are the same as over one for each shard. */
  const together = (
    name: string,
    help: string,
    combine: (values: readonly number[]) => number,
    value: ValueOf,
  ): MetricFamily => {
    const combined = (some: readonly LabelledNumbers[]): number => combine(some.map(({ numbers }) => value(numbers)));
    const samples = isByShard ? byLabels(all, combined) : [metricSample({}, combined(all))];
    return gauge(name, help, samples);
  };
  return [
    together("calls_in_flight", "Attempts that run now.", sumOf, ({ callsInFlight }) => callsInFlight),
    queuedFamily(scraped),
    recordsFamily(all, isByShard),
    ofShards(
      "oldest_attempt_seconds",
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
      ({ unwritten }) => unwritten,
    ),
    ofShards("shard_size_bytes", "Size of the shard's database.", ({ largestBytes }) => largestBytes),
    ofShards(
      "alarm_lag_seconds",
      "For how long the alarm's most overdue work has been due; 0 when none is.",
      ({ overdueMs }) => overdueMs / 1000,
    ),
    ...placeFamilies(all, isByShard),
  ];
}

function labelled({ shards, gathered }: ScrapedObjects): readonly LabelledNumbers[] {
  const alone = shards.map(({ shard, layout, numbers: { isUnwritten, ...numbers } }) => ({
    shard,
    layout,
    numbers: { ...numbers, unwritten: isUnwritten ? 1 : 0, largestBytes: numbers.bytes },
    objects: 1,
  }));
  const together = gathered.flatMap((one) =>
    one.together.map((numbers) => ({
      shard: largeName(one.layout),
      layout: one.layout,
      numbers,
      objects: numbers.objects,
    })),
  );
  return [...alone, ...together];
}

/** A sample for each shard, and for each large layout. */
function byLabels(
  all: readonly LabelledNumbers[],
  value: (some: readonly LabelledNumbers[]) => number,
  more: Readonly<Record<string, string>> = {},
): MetricFamily["samples"] {
  return [...Map.groupBy(all, ({ shard }) => shard)].map(([shard, some]) =>
    metricSample({ shard, ...more }, value(some)),
  );
}

/** The series has the largest value of all shards of the layout. */
function largeName(layout: string): string {
  return `one-of-${layout}`;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function largestOf(values: readonly number[]): number {
  return Math.max(0, ...values);
}

function queuedFamily({ shards, gathered }: ScrapedObjects): MetricFamily {
  const layouts = Map.groupBy(gathered, ({ layout }) => layout);
  return {
    name: "onceway_calls_queued_total",
    type: "counter",
    help: "Attempts started while six or more others ran: the platform may have queued their calls.",
    samples: [
      ...shards.map(({ shard, numbers }) => metricSample({ shard }, queuedIn(numbers.routes))),
      ...[...layouts].map(([layout, some]) =>
        metricSample({ shard: largeName(layout) }, sumOf(some.map(({ counters }) => queuedIn(counters)))),
      ),
    ],
  };
}

function queuedIn(routes: readonly RouteNumbers[]): number {
  return sumOf(routes.map((numbers) => sumOfCounts(numbers, "queued")));
}

function recordsFamily(all: readonly LabelledNumbers[], isByShard: boolean): MetricFamily {
  const samples = COUNTED.flatMap(([state, value]) => {
    const sum = (some: readonly LabelledNumbers[]): number => sumOf(some.map(({ numbers }) => value(numbers)));
    return isByShard ? byLabels(all, sum, { state }) : [metricSample({ state }, sum(all))];
  });
  return {
    name: "onceway_records",
    type: "gauge",
    help: "Records that are not completed, by state; each shard counts up to 10000 waiting, failed and unknown ones.",
    samples,
  };
}

const COUNTED: readonly (readonly [state: string, value: ValueOf])[] = [
  ["started", ({ inFlight }) => inFlight],
  ["waiting", ({ waiting }) => waiting],
  ["failed", ({ failed }) => failed],
  ["unknown", ({ unknown }) => unknown],
];

/** None where nobody finds it out. With each shard's own, the sum over shards is the same. */
function placeFamilies(all: readonly LabelledNumbers[], isByShard: boolean): readonly MetricFamily[] {
  const alike = Map.groupBy(all, ({ layout, shard }) => (isByShard ? `${layout} ${shard}` : layout));
  const samples = [...alike.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const { layout, shard } = first;
    const labels = isByShard ? { layout, shard } : { layout };
    const places = placesTogether(some.map(({ numbers }) => numbers));
    return Object.entries(places).map(([colo, objects]) => metricSample({ ...labels, colo }, objects));
  });
  const help = "Shards by the data centre that they run in.";
  return samples.length === 0 ? [] : [gauge("shard_place", help, samples)];
}

/** Every layout has all its states, so that a sum over them is the number of objects that answered. */
export function layoutFamily(scraped: ScrapedObjects): MetricFamily {
  const samples = [...Map.groupBy(labelled(scraped), ({ layout }) => layout)].flatMap(([layout, all]) =>
    OBJECT_STATES.map((state) => {
      const inState = all.filter(({ numbers }) => objectState(numbers) === state);
      return metricSample({ layout, state }, sumOf(inState.map(({ objects }) => objects)));
    }),
  );
  return {
    name: "onceway_layout_objects",
    type: "gauge",
    help: "Objects of a layout: in open ones keys begin, closed ones still hold something, empty ones are closed and hold nothing.",
    samples,
  };
}

/** Which shards could be asked, and which were not. Of a large layout, only shards that did not answer are named. */
export function askedFamilies({ shards, unreachable, notAsked }: ScrapedObjects, now: number): readonly MetricFamily[] {
  const { earlier, missing, oldestAnswerAt } = notAsked;
  return [
    gauge(
      "shards_not_asked",
      "Shards that this scrape has not asked: their numbers are of an earlier answer, or missing.",
      [metricSample({ numbers: "earlier" }, earlier), metricSample({ numbers: "missing" }, missing)],
    ),
    gauge(
      "oldest_answer_seconds",
      "Age of the earliest answer that these numbers are of; 0 if all are of this scrape.",
      [metricSample({}, oldestAnswerAt === null ? 0 : Math.max(0, now - Date.parse(oldestAnswerAt)) / 1000)],
    ),
    gauge("shard_up", "Whether the shard could be asked.", [
      ...shards.map(({ shard }) => metricSample({ shard }, 1)),
      ...unreachable.slice(0, MOST_NAMED).map(({ shard }) => metricSample({ shard }, 0)),
    ]),
  ];
}

function gauge(name: string, help: string, samples: MetricFamily["samples"]): MetricFamily {
  return { name: `onceway_${name}`, type: "gauge", help, samples };
}
