// Asks all shards that can be enumerated for their numbers: for the metrics, the live view and the charts. Stores nothing. An
// unreachable shard is left out, and the metrics show that.
//
// Each shard stores what it has counted, but a sum over those that answer would fall when one does not, and Prometheus reads a sum that
// falls as a restart of everything. So one object remembers the latest numbers of each shard and adds them up. All deployments have
// the same one, whatever their layouts, because scrapes reach any of them.

import { ROTATING_ADVICE } from "../kernel/request/rotating-tokens.ts";
import { OPERATOR_CALLS } from "../kernel/object/operator-calls.ts";
import { TRAFFIC_CALLS } from "../kernel/object/shard-traffic.ts";
import type { RouteNumbers } from "../kernel/traffic/route-counters.ts";
import type { MetricsFeature } from "../kernel/worker-feature.ts";
import type { ExchangeReport } from "../kernel/traffic/traffic.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import { addUp, type AskShard, askShards, type ShardAnswer, unlessSilent } from "./ask-shards.ts";
import type { HoursView } from "./hours-schema.ts";
import { viewHours } from "./hours.ts";
import { writeExposition } from "./exposition.ts";
import { metricFamilies } from "./metrics.ts";
import type { LayoutShardAddress } from "./shards.ts";

export interface TrafficPorts {
  readonly namespace: DurableObjectNamespace;
  /** Those that keep records. */
  readonly shards: readonly LayoutShardAddress[];
  /** The object that adds up what all have counted, and counts for the isolates. */
  readonly totals: LayoutShardAddress;
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

  /** Prometheus text. `isByShard`: every gauge of a shard has a series for each. */
  async metrics(isByShard = false, features: readonly MetricsFeature[] = []): Promise<string> {
    const { namespace, shards, routes, flush } = this.#ports;
    const [asked] = await Promise.all([
      askShards(namespace, shards, (shard) => shard(OPERATOR_CALLS).numbers()),
      flush(),
    ]);
    const counted = asked.flatMap(({ shard, answer }) =>
      answer === null ? [] : [{ shard, since: answer.since, routes: answer.routes }],
    );
    const totals = await this.#addUp(counted);
    const scraped = asked.map(({ shard, layout, answer }) => ({ shard, layout, numbers: answer }));
    const keepRecords = shards.length > 0;
    return writeExposition(metricFamilies({ shards: scraped, totals, routes, keepRecords, isByShard, features }));
  }

  /** The totals; `null` when their object fails. */
  #addUp(counted: readonly CountedByShard[]): Promise<readonly RouteNumbers[] | null> {
    const { namespace, totals } = this.#ports;
    return unlessSilent(totals, addUp(namespace, totals, counted));
  }

  /** The exchanges since `cursor`, or the latest without one. `null` when the cursor is invalid. */
  async recent(cursor: string | null): Promise<RecentExchanges | null> {
    const after = cursor === null ? 0 : Number(cursor);
    if (!Number.isSafeInteger(after) || after < 0) return null;
    const upTo = Date.now() - CLOCKS_APART_MS;
    const asked = await this.#ask((shard) => shard(TRAFFIC_CALLS).recent({ after, upTo }));
    const exchanges = asked.flatMap(({ answer }) => answer ?? []).toSorted((one, other) => one.at - other.at);
    return { exchanges: exchanges.slice(-MAX_EXCHANGES), cursor: String(Math.max(after, upTo)) };
  }

  /** The last day, and the objects that did not answer. */
  async hours(): Promise<HoursView> {
    const asked = await this.#ask((shard) => shard(TRAFFIC_CALLS).hours());
    const unreachable = asked.filter(({ answer }) => answer === null).map(({ shard }) => shard);
    return { hours: viewHours(asked.map(({ answer }) => answer ?? [])), unreachable };
  }

  /** What operators should change, as far as isolates have noticed in the last day and the configuration has not changed it. */
  async warnings(): Promise<readonly RouteWarning[]> {
    const { namespace, totals, flush, mayRotate } = this.#ports;
    const question = (shard: AskShard): Promise<readonly string[]> =>
      flush().then(() => shard(TRAFFIC_CALLS).rotating());
    const [counting] = await askShards(namespace, [totals], question);
    const message = `Callers' tokens expire before their records do. ${ROTATING_ADVICE}`;
    return (counting?.answer ?? []).filter(mayRotate).map((route) => ({ route, message }));
  }

  /** Asks everybody who counts. */
  async #ask<T>(question: (shard: AskShard) => Promise<T>): Promise<readonly ShardAnswer<T>[]> {
    const { namespace, shards, totals, flush } = this.#ports;
    // That object gets the counts of this isolate before it is asked. An object that hangs delays no other.
    const asked = await Promise.all([
      askShards(namespace, [totals], (shard) => flush().then(() => question(shard))),
      askShards(namespace, shards, question),
    ]);
    return asked.flat();
  }
}
