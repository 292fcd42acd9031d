// The counters of all shards as one: they only rise, whichever shard leaves memory, and no count is added twice or lost in
// transit. Real objects that are evicted, hang and fail.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { OUTCOMES } from "../../../src/core/outcome.ts";
import type { LaidPlace } from "../../../src/operator/shards.ts";
import { TrafficReader } from "../../../src/operator/traffic-reader.ts";
import { shardStub } from "../../../src/shard/call-shard.ts";
import { type ExchangeReport, Traffic, TRAFFIC_URL } from "../../../src/traffic/traffic.ts";
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
  readonly places: readonly [LaidPlace, LaidPlace, LaidPlace];
  /** Adds the counts up. */
  readonly totals: LaidPlace;
  readonly reader: TrafficReader;
  /** Work that continues after an answer. */
  readonly waits: Promise<unknown>[];
}

function aPlace(layout = "3"): LaidPlace {
  return { name: crypto.randomUUID(), jurisdiction: null, locationHint: null, layout };
}

function bench(): Bench {
  const totals = aPlace();
  const places = [aPlace(), aPlace(), aPlace()] as const;
  const waits: Promise<unknown>[] = [];
  const reader = new TrafficReader({
    namespace: env.KEY_SHARD,
    shards: places,
    totals,
    keepRecords: true,
    routes: [ROUTE, "/idle"],
    flush: () => Promise.resolve(),
    waitUntil: (promise) => void waits.push(promise),
  });
  return { places, totals, reader, waits };
}

/** Makes a shard count so many requests. */
async function count(place: LaidPlace, times: number): Promise<void> {
  const traffic = new Traffic();
  for (let time = 0; time < times; time += 1) traffic.exchange(REPORT, Date.now());
  await shardStub(env.KEY_SHARD, place).fetch(TRAFFIC_URL, { method: "POST", body: JSON.stringify(traffic.take()) });
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

  it("never fall when a shard leaves memory, and lose only what it had not yet sent", async () => {
    const one = bench();
    const [first, second, third] = one.places;
    await count(first, 5);
    await count(second, 100);
    await count(third, 7);
    expect(await scraped(one)).toEqual([112, 112]);
    expect(await scraped(one)).toEqual([112, 112]);
    await evictDurableObject(shardStub(env.KEY_SHARD, second));
    expect(await scraped(one)).toEqual([112, 112]);
    await count(second, 3);
    expect(await scraped(one)).toEqual([115, 115]);
  });

  it("start at zero with all series when the collecting object has left memory, and count from then on", async () => {
    const one = bench();
    const [, second] = one.places;
    await count(second, 100);
    expect(await scraped(one)).toEqual([100, 100]);
    await evictDurableObject(shardStub(env.KEY_SHARD, one.totals));
    expect(await scraped(one)).toEqual([0, 0]);
    await count(second, 2);
    expect(await scraped(one)).toEqual([2, 2]);
  });

  it("are the same for all scrapers, also at the same time", async () => {
    const one = bench();
    for (const place of one.places) await count(place, 10);
    await Promise.all([one.reader.metrics(), one.reader.metrics()]);
    expect(await scraped(one)).toEqual([30, 30]);
  });

  it("include at the next scrape what a shard sent too late, and what the first scrape did not take", async () => {
    const one = bench();
    const [first, second, third] = one.places;
    await count(first, 1);
    await count(second, 10);
    await count(third, 100);
    const { promise: isOver, resolve: end } = Promise.withResolvers<null>();
    // While these run, the objects accept no call.
    const block = (place: LaidPlace): Promise<null> =>
      runInDurableObject(shardStub(env.KEY_SHARD, place), (_instance, state) =>
        state.blockConcurrencyWhile(() => isOver),
      );
    const blocked = [block(one.totals), block(second)];
    const without = parseExposition(await one.reader.metrics());
    expect(without.filter(({ labels }) => "route" in labels)).toEqual([]);
    expect(sumOf(without, "onceway_shard_up")).toBe(2);
    end(null);
    await Promise.all([...blocked, ...one.waits]);
    expect(await scraped(one)).toEqual([111, 111]);
  });

  it("only rise while deployments of two layouts answer the scrapes in turn", async () => {
    const [older, newer] = [aPlace("64"), aPlace("128")];
    const { totals } = bench();
    const reader = (shards: readonly [LaidPlace, ...LaidPlace[]]): Pick<Bench, "reader"> => ({
      reader: new TrafficReader({
        namespace: env.KEY_SHARD,
        shards,
        totals,
        keepRecords: true,
        routes: [ROUTE],
        flush: () => Promise.resolve(),
        waitUntil: () => undefined,
      }),
    });
    const [before, after] = [reader([older]), reader([newer, older])];
    for (let round = 1; round <= 7; round += 1) {
      await count(older, 100);
      expect(await scraped(round % 3 === 0 ? after : before)).toEqual([100 * round, 100 * round]);
    }
  });
});
