// Asks all shards that can be enumerated for their numbers: for the metrics, the live view and the charts. Stores nothing. An
// unreachable shard is left out, and the metrics show that.
//
// Each shard stores what it has counted, but a sum over those that answer would fall when one does not, and Prometheus reads a sum that
// falls as a restart of everything. So one object remembers the latest numbers of each shard and adds them up. All deployments have
// the same one, whatever their layouts, because scrapes reach any of them.

import { ROTATING_ADVICE } from "../kernel/request/rotating-tokens.ts";
import { OPERATOR_CALLS } from "../kernel/object/operator-calls.ts";
import { TRAFFIC_CALLS } from "../kernel/object/shard-traffic.ts";
import { GATHERED_SINCE } from "../kernel/object/gathering.ts";
import type { HourOfShard } from "../kernel/object/kept-counts.ts";
import { shardTitle } from "../kernel/object/shard-address.ts";
import type { RouteNumbers } from "../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../kernel/worker-feature.ts";
import type { ExchangeReport } from "../kernel/traffic/traffic.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import {
  addUp,
  askObjects,
  type AskShard,
  askShards,
  type GatheredObjects,
  namesOf,
  type ShardAnswer,
  unlessSilent,
} from "./ask-shards.ts";
import type { HoursView } from "./hours-schema.ts";
import { viewHours } from "./hours.ts";
import { writeExposition } from "./exposition.ts";
import { metricFamilies } from "./metrics.ts";
import { RECENT_AT_ONCE, readRecentCursor, writeRecentCursor } from "./recent-cursor.ts";
import type { ScrapedGathering } from "./shard-metrics.ts";
import { ALL_ASKABLE, type ShardDirectory } from "./shards.ts";

export interface TrafficPorts {
  readonly namespace: DurableObjectNamespace;
  /** Of the objects that keep records, and of the one that adds up what all have counted and counts for the isolates. */
  readonly directory: Pick<ShardDirectory, "listed" | "askedAlone" | "gatherings" | "totals"> &
    Partial<Pick<ShardDirectory, "askable">>;
  /** The configured routes' paths, each once. */
  readonly routes: readonly string[];
  /** Whether the tokens of this route's callers can matter. */
  readonly mayRotate: (route: string) => boolean;
  /** Hands over what this isolate has counted, so that it is included. */
  readonly flush: () => Promise<void>;
}

/** Something that an operator should change in a route. */
export interface RouteWarning {
  readonly route: string;
  readonly message: string;
}

export interface RecentExchanges {
  /** Oldest first. */
  readonly exchanges: readonly ExchangeReport[];
  /** For the next call. */
  readonly cursor: string;
  /** How many objects this call has not asked: the next ones do. */
  readonly notAsked: number;
}

/** Exchanges appear this late, so that a shard whose clock is behind adds none before a cursor. */
const CLOCKS_APART_MS = 300;

/** In one answer; older ones are left out. */
const MAX_EXCHANGES = 500;

export class TrafficReader {
  readonly #ports: TrafficPorts;

  constructor(ports: TrafficPorts) {
    this.#ports = ports;
  }

  /** Prometheus text. `isByShard`: every gauge of an object of a small layout has a series for each. */
  async metrics(isByShard = false, features: readonly MetricsFeature[] = []): Promise<string> {
    const { namespace, directory, routes, flush } = this.#ports;
    const wants = { counters: true, features: features.map(({ name }) => name) } as const;
    const [{ alone, gathered, unreachable, notAsked }] = await Promise.all([
      askObjects(namespace, directory, (shard) => shard(OPERATOR_CALLS).numbers(), { wants }),
      flush(),
    ]);
    const counted = [
      ...alone.flatMap(({ shard, answer }) =>
        answer === null ? [] : [{ shard, since: answer.since, routes: answer.routes }],
      ),
      ...gathered.map(({ gathering: { address }, answer: { counters } }) => ({
        shard: shardTitle(address),
        since: GATHERED_SINCE,
        routes: counters,
      })),
    ];
    const totals = await this.#addUp(counted);
    const scraped = alone.flatMap(({ shard, layout, answer }) =>
      answer === null ? [] : [{ shard, layout, numbers: answer }],
    );
    const keepRecords = directory.askedAlone.length + directory.gatherings.length > 0;
    const scrape = { shards: scraped, gathered: scrapedOf(gathered), unreachable, notAsked };
    return writeExposition(metricFamilies({ ...scrape, totals, routes, keepRecords, isByShard, features }));
  }

  /** The totals; `null` when their object fails. */
  #addUp(counted: readonly CountedByShard[]): Promise<readonly RouteNumbers[] | null> {
    const {
      namespace,
      directory: { totals },
    } = this.#ports;
    return unlessSilent(totals, addUp(namespace, totals, counted));
  }

  /** The exchanges since `cursor`, or the latest without one. `null` when the cursor is invalid. Of many objects, each call asks others. */
  async recent(cursor: string | null): Promise<RecentExchanges | null> {
    const { namespace, directory } = this.#ports;
    const { listed } = directory;
    const groups = Math.max(1, Math.ceil(listed.length / RECENT_AT_ONCE));
    const begin = readRecentCursor(cursor, groups);
    if (begin === null) return null;
    const upTo = Date.now() - CLOCKS_APART_MS;
    const { group, after: afters } = begin;
    const after = afters[group] ?? 0;
    const isAskable = (await directory.askable?.()) ?? ALL_ASKABLE;
    const addresses = listed.slice(group * RECENT_AT_ONCE, (group + 1) * RECENT_AT_ONCE);
    const question = (shard: AskShard): Promise<readonly ExchangeReport[]> =>
      shard(TRAFFIC_CALLS).recent({ after, upTo });
    // What isolates have answered alone is asked for with the first objects.
    const asked = await Promise.all([
      group === 0 ? this.#askTotals(question) : [],
      askShards(namespace, addresses.filter(isAskable), question),
    ]);
    const exchanges = asked
      .flat()
      .flatMap(({ answer }) => answer ?? [])
      .toSorted((one, other) => one.at - other.at);
    return {
      exchanges: exchanges.slice(-MAX_EXCHANGES),
      cursor: writeRecentCursor(begin, Math.max(after, upTo)),
      notAsked: listed.length - addresses.length,
    };
  }

  /** The last day, and the objects that did not answer. `asksMore`: gathering objects ask others before they answer. */
  async hours(asksMore: boolean): Promise<HoursView> {
    const { namespace, directory } = this.#ports;
    const [isolates, { alone, gathered, unreachable, notAsked }] = await Promise.all([
      this.#askTotals(askHours),
      askObjects(namespace, directory, askHours, { asksMore, wants: { hours: true } }),
    ]);
    const silent = isolates.filter(({ answer }) => answer === null).map(({ shard }) => shard);
    return {
      hours: viewHours([
        ...[...isolates, ...alone].map(({ answer }) => answer ?? []),
        ...gathered.map(({ answer }) => answer.hours),
      ]),
      unreachable: [...silent, ...namesOf(unreachable)],
      notAsked,
    };
  }

  /** What operators should change, as far as isolates have noticed in the last day and the configuration has not changed it. */
  async warnings(): Promise<readonly RouteWarning[]> {
    const { mayRotate } = this.#ports;
    const [counting] = await this.#askTotals((shard) => shard(TRAFFIC_CALLS).rotating());
    const message = `Callers' tokens expire before their records do. ${ROTATING_ADVICE}`;
    return (counting?.answer ?? []).filter(mayRotate).map((route) => ({ route, message }));
  }

  /** That object gets the counts of this isolate before it is asked. */
  #askTotals<T>(question: (shard: AskShard) => Promise<T>): Promise<readonly ShardAnswer<T>[]> {
    const { namespace, directory, flush } = this.#ports;
    return askShards(namespace, [directory.totals], (shard) => flush().then(() => question(shard)));
  }
}

function askHours(shard: AskShard): Promise<readonly HourOfShard[]> {
  return shard(TRAFFIC_CALLS).hours();
}

function scrapedOf(gathered: readonly GatheredObjects[]): readonly ScrapedGathering[] {
  return gathered.map(({ gathering: { address }, answer: { together, features, counters } }) => ({
    layout: address.layout,
    together,
    features,
    counters,
  }));
}
