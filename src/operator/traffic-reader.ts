// Asks all shards that can be enumerated for their numbers: for the metrics, the live view and the charts. Nothing is stored for
// any of it; a shard that cannot be asked is left out, and the metrics say so.
//
// A sum over shards is no counter: each loses its counts when it leaves memory, and a sum that falls by one shard's part is
// read as a restart of all. So each shard tells what it has counted once, and the first shard adds it up: what a scrape
// shows only rises, and falls to 0 only when that object restarts.

import { OUTCOMES } from "../core/outcome.ts";
import type { Remote } from "../shard/itty.ts";
import { type KeyShard } from "../shard/key-shard.ts";
import type { OutcomeCounts, RouteNumbers } from "../traffic/route-counters.ts";
import { type ExchangeReport, Traffic, TOTALS_URL } from "../traffic/traffic.ts";
import type { ShardPlace } from "../shard/shard-place.ts";
import { shardStub } from "../shard/call-shard.ts";
import { type Asked, askShards, unlessSilent } from "./ask-shards.ts";
import { exposition } from "./exposition.ts";
import { type HeldNumbers, metricFamilies } from "./metrics.ts";

export interface TrafficPorts {
  readonly namespace: DurableObjectNamespace;
  /** The first of them adds up what all have counted. */
  readonly shards: readonly [ShardPlace, ...ShardPlace[]];
  /** Whether records lie in these. */
  readonly keepRecords: boolean;
  /** The configured routes' paths, each once. */
  readonly routes: readonly string[];
  /** Hands over what this isolate has counted, so that it is among what is read. */
  readonly flush: () => Promise<void>;
  readonly waitUntil: (promise: Promise<unknown>) => void;
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
  /** What shards have told, until the first one has it. */
  readonly #told = new Traffic();

  constructor(ports: TrafficPorts) {
    this.#ports = ports;
  }

  /** Prometheus text. */
  metrics(): Promise<string> {
    const scrape = this.#scrape();
    // What shards have told is added up although who asked has gone: a scrape that takes too long loses nothing.
    this.#ports.waitUntil(scrape.catch(() => null));
    return scrape;
  }

  async #scrape(): Promise<string> {
    const { keepRecords, routes, waitUntil } = this.#ports;
    const asked = await this.#ask((shard) => {
      const held = this.#collect(shard);
      // A shard tells its counts once: those that come too late for this scrape are in the next one.
      waitUntil(held.catch(() => null));
      return held;
    });
    const shards = asked.map(({ shard, said }) => ({ shard, numbers: said }));
    // What is sent to a shard that is silent may arrive all the same, and would be counted twice.
    const totals = (asked[0]?.said ?? null) === null ? null : await this.#addUp();
    return exposition(metricFamilies({ shards, totals, routes, keepRecords }));
  }

  async #collect(shard: Remote<KeyShard>): Promise<HeldNumbers> {
    const { routes, ...held } = await shard.numbers();
    this.#told.add({ routes, exchanges: [] }, Date.now());
    return held;
  }

  /** All that was ever counted, by the first shard; `null` when it fails, and then it gets this part with the next scrape. */
  async #addUp(): Promise<readonly RouteNumbers[] | null> {
    const { namespace, shards } = this.#ports;
    const [place] = shards;
    const part = this.#told.take();
    const answer = shardStub(namespace, place)
      .fetch(TOTALS_URL, { method: "POST", body: JSON.stringify(part.routes) })
      .then((response) => (response.ok ? response.json<readonly RouteNumbers[]>() : null));
    const totals = await unlessSilent(place, answer);
    if (totals === null) this.#told.add(part, Date.now());
    return totals;
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
    const [first, ...others] = shards;
    // The first gets what this isolate has counted before it is asked. One that hangs makes no other wait.
    const asked = await Promise.all([
      askShards(namespace, [first], (shard) => flush().then(() => question(shard))),
      askShards(namespace, others, question),
    ]);
    return asked.flat();
  }
}

function added(one: OutcomeCounts, other: OutcomeCounts): OutcomeCounts {
  const perMinute = one.perMinute.map((count, minute) => count + (other.perMinute[minute] ?? 0));
  return { ...one, count: one.count + other.count, perMinute };
}
