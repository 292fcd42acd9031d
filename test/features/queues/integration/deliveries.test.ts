// Messages of one batch in one call to their shard: each is an exchange of its own, whatever becomes of the others or of the call.

import type { Layout } from "../../../../src/kernel/config/layout.ts";
import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "../../../../src/features/settings.ts";
import type { Route } from "../../../../src/kernel/config/resolved.ts";
import { fingerprint } from "../../../../src/kernel/record/units.ts";
import type { DeliveryReport } from "../../../../src/features/queues/delivery-report.ts";
import { DELIVERIES_CALL } from "../../../../src/features/queues/object/deliveries.ts";
import type { ExchangeHead, ExchangeRequest } from "../../../../src/kernel/request/message.ts";
import { shardCaller } from "../../../../src/kernel/object/call-shard.ts";
import {
  type DeliverExchanges,
  exchangeDeliverer,
  MOST_TOGETHER,
} from "../../../../src/features/queues/object/deliveries.ts";
import { again, headOf, heldAnswer, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const read = readConfig({ IDEMPOTENCY: { origin: "https://api.example", shards: 1 }, ROUTES: [{ path: "/*" }] });
const route: Route | undefined = read.ok ? read.config.routes[0] : undefined;

let bench: ShardBench;
/** The paths of the calls to the object, in order. */
let calls: string[];
/** What happens instead of a call to this URL. */
let instead: (url: string) => Promise<Response> | null;
let ask: DeliverExchanges;
beforeEach(() => {
  bench = new ShardBench();
  calls = [];
  instead = () => null;
  const namespace = new Proxy(env.KEY_SHARD, {
    get: (target, property) => {
      if (property === "get") return () => ({ fetch: callObject });
      const value: unknown = Reflect.get(target, property);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  ask = exchangeDeliverer(namespace, shardCaller(namespace));
});

function callObject(url: string, init: RequestInit): Promise<Response> {
  calls.push(new URL(url).pathname);
  return instead(url) ?? bench.stub.fetch(url, init);
}

function deliver(
  all: readonly ExchangeHead[],
  text = "{}",
  previous: readonly Layout[] = [],
): Promise<readonly (DeliveryReport | null)[]> {
  const exchanges = all.map((head): ExchangeRequest => ({
    head,
    body: new TextEncoder().encode(text),
    rest: null,
    namesIn: () => Promise.resolve([head.record.id]),
    free: () => undefined,
  }));
  if (route === undefined) throw new Error(JSON.stringify(read));
  return Promise.all(ask({ ...route, layouts: { ...route.layouts, previous } }, exchanges));
}

function heads(count: number): readonly ExchangeHead[] {
  return Array.from({ length: count }, () => headOf());
}

const LAYOUT: Layout = { shards: 1, jurisdiction: null, locationHint: null };
const FIRST = { status: 201, word: "first", isWhole: true, retryAfterMs: null, originalStatus: null };

describe("messages of one shard", () => {
  it("go in one call, and each has its own answer", async () => {
    const [reused, ...others] = heads(4);
    if (reused === undefined) throw new Error("no head");
    await deliver([reused]);
    const mismatched = { ...again(reused), request: { ...again(reused).request, fingerprint: fingerprint("other") } };
    calls.length = 0;
    const [mismatch, ...firsts] = await deliver([mismatched, ...others]);
    expect(calls).toEqual(["/1/deliveries"]);
    expect(mismatch).toMatchObject({ status: 422, word: "key-reused" });
    expect(firsts).toEqual([FIRST, FIRST, FIRST]);
    expect(bench.calls).toHaveLength(4);
    const [replayed] = await deliver(others.map(again));
    expect(replayed).toEqual({ ...FIRST, word: "replayed" });
    expect(bench.calls).toHaveLength(4);
  });

  it("are all begun before one of them has its answer", async () => {
    const { origin, release } = heldAnswer(() => new Response("done", { status: 201 }));
    bench.origin = origin;
    const answers = deliver(heads(4));
    await bench.called(4);
    release();
    expect(await answers).toEqual([FIRST, FIRST, FIRST, FIRST]);
    expect(calls).toEqual(["/1/deliveries"]);
  });

  it("with one key take effect once", async () => {
    const head = headOf({ rules: { duplicate: "wait" } });
    expect(await deliver([head, again(head), headOf()])).toMatchObject([
      { word: "first" },
      { word: "replayed" },
      { word: "first" },
    ]);
    expect(bench.calls).toHaveLength(2);
  });

  it("go in several calls if they are many: their claims are one turn", async () => {
    expect(await deliver(heads(2 * MOST_TOGETHER + 1))).toHaveLength(2 * MOST_TOGETHER + 1);
    expect(calls.toSorted()).toEqual(["/1/deliveries", "/1/deliveries", "/1/deliveries"]);
    expect(bench.calls).toHaveLength(2 * MOST_TOGETHER + 1);
  });

  it("go alone with a larger body, and while the layout changes", async () => {
    const [first, second] = heads(2);
    if (first === undefined || second === undefined) throw new Error("no head");
    expect(await deliver([first, second], "x".repeat(20_000))).toEqual([FIRST, FIRST]);
    expect(calls).toEqual(["/1/offer", "/1/offer"]);
    calls.length = 0;
    expect(await deliver([headOf(), headOf()], undefined, [LAYOUT])).toEqual([FIRST, FIRST]);
    expect(calls).toEqual(["/1/exchange", "/1/exchange"]);
  });
});

describe("a call that fails", () => {
  it("because its object refuses it is made again for each message, and all take effect once", async () => {
    instead = (url) =>
      url === DELIVERIES_CALL.url ? bench.stub.fetch("https://key-shard/1/of-the-future", { method: "POST" }) : null;
    expect(await deliver(heads(3))).toEqual([FIRST, FIRST, FIRST]);
    expect(calls).toEqual(["/1/deliveries", "/1/exchange", "/1/exchange", "/1/exchange"]);
    expect(bench.calls).toHaveLength(3);
  });

  it("after its messages have begun repeats none of them", async () => {
    instead = (url) =>
      url === DELIVERIES_CALL.url ? Promise.resolve(new Response("not all of the an", { status: 200 })) : null;
    const some = heads(2);
    expect(await deliver(some)).toEqual([FIRST, FIRST]);
    instead = () => null;
    expect(await deliver(some)).toEqual([
      { ...FIRST, word: "replayed" },
      { ...FIRST, word: "replayed" },
    ]);
    expect(bench.calls).toHaveLength(2);
  });

  it("because its object is lost leaves every message to be delivered again", async () => {
    bench.origin = () => new Promise(() => undefined);
    const answers = deliver(heads(2));
    await bench.called(2);
    await bench.lose();
    for (const report of await answers) expect(report?.word).toBe("in-flight");
    expect(bench.calls).toHaveLength(2);
  });

  it("because its object is overloaded is followed by no other", async () => {
    instead = () => Promise.reject(Object.assign(new Error("too many"), { overloaded: true }));
    expect(await deliver(heads(3))).toEqual([null, null, null]);
    expect(calls).toEqual(["/1/deliveries"]);
  });

  it("for one message is made again for that one", async () => {
    const replayed = { ...FIRST, word: "replayed" };
    instead = (url) => (url === DELIVERIES_CALL.url ? Promise.resolve(Response.json([replayed, null])) : null);
    expect(await deliver(heads(2))).toEqual([replayed, FIRST]);
    expect(calls).toEqual(["/1/deliveries", "/1/exchange"]);
  });
});
