// Asks all shards that can be enumerated for their numbers: for the metrics, the live view and the charts. Nothing is stored for
// any of it; a shard that cannot be asked is left out, and the metrics say so.

import { OUTCOMES } from "../core/outcome.ts";
import type { Remote } from "../shard/itty.ts";
import type { KeyShard } from "../shard/key-shard.ts";
import type { OutcomeCounts } from "../traffic/route-counters.ts";
import type { ExchangeReport } from "../traffic/traffic.ts";
import { exposition } from "./exposition.ts";
import { type AskedShard, metricFamilies } from "./metrics.ts";
import type { ShardPlace } from "../shard/naming.ts";
import { type Asked, askShards } from "./ask-shards.ts";

export interface TrafficPorts {
  readonly namespace: DurableObjectNamespace;
  readonly shards: readonly ShardPlace[];
  /** Whether records lie in these. */
  readonly keepRecords: boolean;
  /** Hands over what this isolate has counted, so that it is among what is read. */
  readonly flush: () => Promise<void>;
}

export interface RecentExchanges {
  /** Oldest first. */
  readonly exchanges: readonly ExchangeReport[];
  /** For the next call. */
  readonly cursor: string;
}

/** An exchange shows this much later, so that no shard whose clock is behind adds one before a cursor. */
const CLOCKS_APART_MS = 300;

/** Of an answer; older ones are left out. */
const MOST_EXCHANGES = 500;

export class TrafficReader {
  readonly #ports: TrafficPorts;

  constructor(ports: TrafficPorts) {
    this.#ports = ports;
  }

  /** Prometheus text. */
  async metrics(): Promise<string> {
    const asked = await this.#ask((shard) => shard.numbers());
    const shards = asked.map(({ shard, said }): AskedShard => ({ shard, numbers: said }));
    return exposition(metricFamilies(shards, this.#ports.keepRecords));
  }

  /** What has come since `cursor`; the latest without one. `null` when it is none that was given here. */
  async recent(cursor: string | null): Promise<RecentExchanges | null> {
    const after = cursor === null ? 0 : Number(cursor);
    if (!Number.isSafeInteger(after) || after < 0) return null;
    const upTo = Date.now() - CLOCKS_APART_MS;
    const asked = await this.#ask((shard) => shard.recent(after, upTo));
    const exchanges = asked.flatMap(({ said }) => said ?? []).toSorted((one, other) => one.at - other.at);
    return { exchanges: exchanges.slice(-MOST_EXCHANGES), cursor: String(Math.max(after, upTo)) };
  }

  /** Since the shards are in memory. */
  async traffic(): Promise<readonly OutcomeCounts[]> {
    const asked = await this.#ask((shard) => shard.traffic());
    const sums = new Map<string, OutcomeCounts>();
    for (const one of asked.flatMap(({ said }) => said ?? [])) {
      const name = `${one.route} ${one.outcome}`;
      const sum = sums.get(name);
      sums.set(name, sum === undefined ? one : added(sum, one));
    }
    return [...sums.values()].toSorted(
      (one, other) =>
        one.route.localeCompare(other.route) || OUTCOMES.indexOf(one.outcome) - OUTCOMES.indexOf(other.outcome),
    );
  }

  async #ask<T>(question: (shard: Remote<KeyShard>) => Promise<T>): Promise<readonly Asked<T>[]> {
    const { namespace, shards, flush } = this.#ports;
    await flush();
    return askShards(namespace, shards, question);
  }
}

function added(one: OutcomeCounts, other: OutcomeCounts): OutcomeCounts {
  const perMinute = one.perMinute.map((count, minute) => count + (other.perMinute[minute] ?? 0));
  return { ...one, count: one.count + other.count, perMinute };
}
