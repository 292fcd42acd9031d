// The counters of all shards as one: they are exact and only rise, whichever object leaves memory, hangs or fails. Real objects.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { OUTCOMES } from "../../../src/kernel/record/outcome.ts";
import type { LayoutShardAddress } from "../../../src/operator/shards.ts";
import { TrafficReader } from "../../../src/operator/traffic-reader.ts";
import { shardStub } from "../../../src/kernel/object/call-shard.ts";
import {
  type ExchangeReport,
  type SentBatch,
  TrafficCounters,
  TRAFFIC_CALL,
} from "../../../src/kernel/traffic/traffic.ts";
import { parseExposition, sumOf } from "../../support/exposition.ts";

const ROUTE = "/act";
const REPORT: ExchangeReport = {
  at: 0,
  route: ROUTE,
  recordId: null,
  outcome: "first",
  status: 201,
  attempt: 1,
  durationMs: 8,
  originMs: 5,
  waitedMs: 0,
};

interface Bench {
  readonly addresses: readonly [LayoutShardAddress, LayoutShardAddress, LayoutShardAddress];
  /** Adds the counts up. */
  readonly totals: LayoutShardAddress;
  readonly reader: TrafficReader;
}

/** An object that keeps what it counts; the name says so. */
function anAddress(layout = "3"): LayoutShardAddress {
  return { name: `shard-0-of-${crypto.randomUUID()}`, jurisdiction: null, locationHint: null, layout };
}

function bench(): Bench {
  const totals = anAddress();
  const addresses = [anAddress(), anAddress(), anAddress()] as const;
  const reader = new TrafficReader({
    namespace: env.KEY_SHARD,
    directory: { listed: addresses, askedAlone: addresses, gatherings: [], totals },
    routes: [ROUTE, "/idle"],
    mayRotate: () => true,
    flush: () => Promise.resolve(),
  });
  return { addresses, totals, reader };
}

/** Makes a shard count so many requests. */
async function count(address: LayoutShardAddress, times: number): Promise<void> {
  const traffic = new TrafficCounters();
  for (let time = 0; time < times; time += 1) traffic.exchange(REPORT, Date.now());
  const body = JSON.stringify({ ...traffic.take(), id: crypto.randomUUID(), isUrgent: true } satisfies SentBatch);
  await shardStub(env.KEY_SHARD, address).fetch(TRAFFIC_CALL.url, { method: "POST", body });
}

async function scraped({ reader }: Pick<Bench, "reader">): Promise<readonly number[]> {
  const metrics = parseExposition(await reader.metrics());
  return [
    sumOf(metrics, "onceway_requests_total", { route: ROUTE, outcome: "first" }),
    sumOf(metrics, "onceway_origin_seconds_count", { route: ROUTE }),
  ];
}

describe("the counters of all shards", () => {
  it("exist before any shard has counted", async () => {
    const one = bench();
    const metrics = parseExposition(await one.reader.metrics());
    expect(
      metrics.filter(({ name, labels }) => name === "onceway_requests_total" && labels["route"] === "/idle"),
    ).toHaveLength(OUTCOMES.length);
    expect(metrics.every(({ labels, value }) => !("route" in labels) || value === 0)).toBe(true);
  });

  it("are the same whichever object leaves memory, also the one that adds up, before or after a scrape", async () => {
    const one = bench();
    const [first, second, third] = one.addresses;
    await count(first, 5);
    await count(second, 100);
    await count(third, 7);
    await evictDurableObject(shardStub(env.KEY_SHARD, second));
    expect(await scraped(one)).toEqual([112, 112]);
    expect(await scraped(one)).toEqual([112, 112]);
    for (const address of [first, second, one.totals]) await evictDurableObject(shardStub(env.KEY_SHARD, address));
    expect(await scraped(one)).toEqual([112, 112]);
    await count(second, 3);
    await evictDurableObject(shardStub(env.KEY_SHARD, one.totals));
    expect(await scraped(one)).toEqual([115, 115]);
  });

  it("include what the object that adds up has counted itself, for the isolates", async () => {
    const one = bench();
    await count(one.addresses[0], 1);
    await count(one.totals, 10);
    expect(await scraped(one)).toEqual([11, 11]);
    await evictDurableObject(shardStub(env.KEY_SHARD, one.totals));
    expect(await scraped(one)).toEqual([11, 11]);
  });

  it("are the same for all scrapers, also at the same time", async () => {
    const one = bench();
    for (const address of one.addresses) await count(address, 10);
    await Promise.all([one.reader.metrics(), one.reader.metrics()]);
    expect(await scraped(one)).toEqual([30, 30]);
  });

  it("do not fall while a shard does not answer, and are left out while their own object does not", async () => {
    const one = bench();
    const [first, second, third] = one.addresses;
    for (const address of [first, second, third]) await count(address, 10);
    expect(await scraped(one)).toEqual([30, 30]);
    await count(first, 1);
    const { promise: isOver, resolve: end } = Promise.withResolvers<null>();
    // While these run, the objects accept no call.
    const block = (address: LayoutShardAddress): Promise<null> =>
      runInDurableObject(shardStub(env.KEY_SHARD, address), (_instance, state) =>
        state.blockConcurrencyWhile(() => isOver),
      );
    const blocked = [block(second)];
    // The silent one may leave memory, and so may the one that remembers its numbers.
    await evictDurableObject(shardStub(env.KEY_SHARD, one.totals));
    const partial = parseExposition(await one.reader.metrics());
    expect(sumOf(partial, "onceway_requests_total", { route: ROUTE, outcome: "first" })).toBe(31);
    expect(sumOf(partial, "onceway_shard_up")).toBe(2);
    blocked.push(block(one.totals));
    const without = parseExposition(await one.reader.metrics());
    expect(without.filter(({ labels }) => "route" in labels)).toEqual([]);
    end(null);
    await Promise.all(blocked);
    expect(await scraped(one)).toEqual([31, 31]);
  });

  it("rise on when an object has lost its database", async () => {
    const one = bench();
    const [first] = one.addresses;
    await count(first, 5);
    expect(await scraped(one)).toEqual([5, 5]);
    await runInDurableObject(shardStub(env.KEY_SHARD, first), (_instance, { storage }) => storage.deleteAll());
    await evictDurableObject(shardStub(env.KEY_SHARD, first));
    expect(await scraped(one)).toEqual([5, 5]);
    await count(first, 2);
    expect(await scraped(one)).toEqual([7, 7]);
  });

  it("only rise while deployments of two layouts answer the scrapes in turn", async () => {
    const [older, newer] = [anAddress("64"), anAddress("128")];
    const { totals } = bench();
    const reader = (shards: readonly [LayoutShardAddress, ...LayoutShardAddress[]]): Pick<Bench, "reader"> => ({
      reader: new TrafficReader({
        namespace: env.KEY_SHARD,
        directory: { listed: shards, askedAlone: shards, gatherings: [], totals },
        routes: [ROUTE],
        mayRotate: () => true,
        flush: () => Promise.resolve(),
      }),
    });
    const [before, after] = [reader([older]), reader([newer, older])];
    for (let round = 1; round <= 7; round += 1) {
      await count(older, 100);
      expect(await scraped(round % 3 === 0 ? after : before)).toEqual([100 * round, 100 * round]);
    }
  });
});
