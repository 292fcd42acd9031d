// Asks all shards that can be enumerated for their numbers: for the metrics, the live view and the charts. Stores nothing. A
// unreachable shard is left out, and the metrics show that.
//
// A sum over shards is not a counter: a shard loses its counts when it leaves memory, and Prometheus reads a sum that falls as
// a restart of everything. So each shard hands over its counts once and one object adds them up: the metrics only rise, and fall to 0
// only when that object restarts. All deployments have the same one, whatever their layouts, because scrapes reach any of them.

import { ROTATING_ADVICE } from "../http/rotating-tokens.ts";
import { OUTCOMES } from "../core/outcome.ts";
import type { Remote } from "../shard/itty.ts";
import { type KeyShard } from "../shard/key-shard.ts";
import type { OutcomeCounts, RouteNumbers } from "../traffic/route-counters.ts";
import { type ExchangeReport, Traffic, TOTALS_URL } from "../traffic/traffic.ts";
import { shardStub } from "../shard/call-shard.ts";
import type { ShardPlace } from "../shard/shard-place.ts";
import { askShards, type ShardAnswer, unlessSilent } from "./ask-shards.ts";
import type { HoursView } from "./hours-schema.ts";
import { viewHours } from "./hours-view.ts";
import { exposition } from "./exposition.ts";
import { metricFamilies } from "./metrics.ts";
import type { HeldNumbers } from "./shard-metrics.ts";
import type { LaidPlace } from "./shards.ts";

export interface TrafficPorts {
  readonly namespace: DurableObjectNamespace;
  /** The first one counts for the isolates. */
  readonly shards: readonly [LaidPlace, ...LaidPlace[]];
  /** The object that adds up what all have counted. */
  readonly totals: ShardPlace;
  /** Whether these keep records. */
  readonly keepRecords: boolean;
  /** The configured routes' paths, each once. */
  readonly routes: readonly string[];
  /** Hands over what this isolate has counted, so that it is included. */
  readonly flush: () => Promise<void>;
  readonly waitUntil: (promise: Promise<unknown>) => void;
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
  /** Counts from shards, until the object that adds them up has them. */
  readonly #collected = new Traffic();

  constructor(ports: TrafficPorts) {
    this.#ports = ports;
  }

  /** Prometheus text. `isByShard`: every gauge of a shard has a series for each. */
  metrics(isByShard = false): Promise<string> {
    const scrape = this.#scrape(isByShard);
    // The sum continues after the client disconnects, so that a slow scrape loses no counts.
    this.#ports.waitUntil(scrape.catch(() => null));
    return scrape;
  }

  async #scrape(isByShard: boolean): Promise<string> {
    const { keepRecords, routes, waitUntil } = this.#ports;
    // An object that is unreachable may still receive what is sent later, and would count it twice.
    const isUp = this.#sum([]);
    const asked = await this.#ask((shard) => {
      const held = this.#collect(shard);
      // A shard hands over its counts once: late ones are in the next scrape.
      waitUntil(held.catch(() => null));
      return held;
    });
    const shards = asked.map(({ shard, layout, answer }) => ({ shard, layout, numbers: answer }));
    const totals = (await isUp) === null ? null : await this.#addUp();
    return exposition(metricFamilies({ shards, totals, routes, keepRecords, isByShard }));
  }

  async #collect(shard: Remote<KeyShard>): Promise<HeldNumbers> {
    const { routes, ...held } = await shard.numbers();
    this.#collected.add({ routes, exchanges: [] }, Date.now());
    return held;
  }

  /** The totals; `null` when their object fails: it gets this part with the next scrape. */
  async #addUp(): Promise<readonly RouteNumbers[] | null> {
    const part = this.#collected.take();
    const totals = await this.#sum(part.routes);
    if (totals === null) this.#collected.add(part, Date.now());
    return totals;
  }

  #sum(routes: readonly RouteNumbers[]): Promise<readonly RouteNumbers[] | null> {
    const { namespace, totals } = this.#ports;
    const answer = shardStub(namespace, totals)
      .fetch(TOTALS_URL, { method: "POST", body: JSON.stringify(routes) })
      .then((response) => (response.ok ? response.json<readonly RouteNumbers[]>() : null));
    return unlessSilent(totals, answer);
  }

  /** The exchanges since `cursor`, or the latest without one. `null` when the cursor is invalid. */
  async recent(cursor: string | null): Promise<RecentExchanges | null> {
    const after = cursor === null ? 0 : Number(cursor);
    if (!Number.isSafeInteger(after) || after < 0) return null;
    const upTo = Date.now() - CLOCKS_APART_MS;
    const asked = await this.#ask((shard) => shard.recent(after, upTo));
    const exchanges = asked.flatMap(({ answer }) => answer ?? []).toSorted((one, other) => one.at - other.at);
    return { exchanges: exchanges.slice(-MAX_EXCHANGES), cursor: String(Math.max(after, upTo)) };
  }

  /** Counted since the shards were loaded into memory. */
  async traffic(): Promise<readonly OutcomeCounts[]> {
    const asked = await this.#ask((shard) => shard.traffic());
    const sums = new Map<string, OutcomeCounts>();
    for (const one of asked.flatMap(({ answer }) => answer ?? [])) {
      const name = `${one.route} ${one.outcome}`;
      const sum = sums.get(name);
      sums.set(name, sum === undefined ? one : added(sum, one));
    }
    return [...sums.values()].toSorted(
      (one, other) =>
        one.route.localeCompare(other.route) || OUTCOMES.indexOf(one.outcome) - OUTCOMES.indexOf(other.outcome),
    );
  }

  /** The last day, and the shards that did not answer. */
  async hours(): Promise<HoursView> {
    const asked = await this.#ask((shard) => shard.hours());
    const unreachable = asked.filter(({ answer }) => answer === null).map(({ shard }) => shard);
    return { hours: viewHours(asked.map(({ answer }) => answer ?? [])), unreachable };
  }

  /** What operators should change, as far as the isolates have noticed since the first shard was loaded into memory. */
  async warnings(): Promise<readonly RouteWarning[]> {
    const { namespace, shards, flush } = this.#ports;
    const question = (shard: Remote<KeyShard>): Promise<readonly string[]> => flush().then(() => shard.rotating());
    const [first] = await askShards(namespace, [shards[0]], question);
    const message = `Callers' tokens expire before their records do: ${ROTATING_ADVICE}.`;
    return (first?.answer ?? []).map((route) => ({ route, message }));
  }

  async #ask<T>(question: (shard: Remote<KeyShard>) => Promise<T>): Promise<readonly ShardAnswer<T>[]> {
    const { namespace, shards, flush } = this.#ports;
    const [first, ...others] = shards;
    // The first shard gets the counts of this isolate before it is asked. A shard that hangs delays no other.
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
