// What a shard reports about its exchanges, in workerd: data points (the platform's dataset does nothing locally, so a
// recording stand-in replaces it), how late its alarm is, and calls that may have been queued.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { TrafficFlusher } from "../../../src/kernel/traffic/traffic-flusher.ts";
import { KeyShard } from "../../../src/worker/key-shard.ts";
import { OPERATOR_CALLS, type ShardNumbers } from "../../../src/kernel/object/operator-calls.ts";
import { type DataPoint, dataPointOf } from "../../../src/kernel/traffic/exchange-reporter.ts";
import { type ExchangeReport, type SentBatch, TrafficCounters } from "../../../src/kernel/traffic/traffic.ts";
import {
  again,
  headOf,
  heldAnswer,
  messageOf,
  RETENTION_MS,
  ShardBench,
} from "../../support/integration/shard-bench.ts";
import { EXCHANGE_CALL } from "../../../src/kernel/request/message.ts";

const REPORT: ExchangeReport = {
  at: 0,
  route: "/act",
  recordId: null,
  outcome: "key-missing",
  status: 400,
  attempt: null,
  durationMs: 1,
  originMs: null,
  waitedMs: 0,
};

describe("a dataset that is bound", () => {
  it("gets one data point for each exchange, in the published order", async () => {
    vi.stubGlobal("fetch", () => new Response("{}", { status: 201 }));
    const points: DataPoint[] = [];
    const bindings = { ...env, METRICS: { writeDataPoint: (point: DataPoint) => points.push(point) } };
    await runInDurableObject(env.KEY_SHARD.getByName("shard-7-of-8"), async (_instance, state) => {
      const shard = new KeyShard(state, bindings);
      const head = headOf();
      for (const one of [head, again(head)]) {
        await (await shard.fetch(new Request(EXCHANGE_CALL.url, { method: "POST", body: messageOf(one) }))).text();
      }
      const blobs = (outcome: string): readonly string[] => [
        "/act",
        outcome,
        "shard-7-of-8",
        head.record.id.slice(0, 32),
      ];
      const ms: unknown = expect.any(Number);
      expect(points).toEqual([
        { indexes: ["/act"], blobs: blobs("first"), doubles: [ms, ms, 0, 201, 1] },
        { indexes: ["/act"], blobs: blobs("replay"), doubles: [ms, -1, 0, 201, 1] },
      ]);
    });
  });

  it.each(["a dataset", "no dataset at all"])("disturbs no exchange when it fails: %s", async (what) => {
    const calls: string[] = [];
    vi.stubGlobal("fetch", (_url: string, { method }: { readonly method: string }) => {
      calls.push(method);
      return new Response("done", { status: 201 });
    });
    const writeDataPoint = (): never => {
      throw new TypeError("too many data points");
    };
    const bindings = { ...env, METRICS: what === "a dataset" ? { writeDataPoint } : {} };
    await runInDurableObject(env.KEY_SHARD.getByName(crypto.randomUUID()), async (_instance, state) => {
      const shard = new KeyShard(state, bindings);
      const head = headOf();
      for (const one of [head, again(head)]) {
        const response = await shard.fetch(new Request(EXCHANGE_CALL.url, { method: "POST", body: messageOf(one) }));
        expect([response.status, await response.text()]).toEqual([201, "done"]);
      }
      expect(calls).toEqual(["POST"]);
    });
  });

  it("gets no index longer than it accepts", () => {
    expect(dataPointOf({ ...REPORT, route: `/${"a".repeat(200)}` }, null, "worker").indexes[0]).toHaveLength(96);
  });
});

describe("the numbers of a shard", () => {
  it("show for how long the alarm's work has been due, also to an instance that has just been loaded", async () => {
    const bench = new ShardBench();
    await bench.send(messageOf(headOf()));
    await evictDurableObject(bench.stub);
    // The record's expiry is an eighth of the retention late at most.
    vi.useFakeTimers({ now: Date.now() + 2 * RETENTION_MS, toFake: ["Date"] });
    try {
      const [overdueMs, left] = await runInDurableObject(bench.stub, async (instance) => {
        if (!(instance instanceof KeyShard)) throw new TypeError("no shard");
        const before = (await numbersOf(instance)).overdueMs;
        instance.alarm();
        return [before, (await numbersOf(instance)).overdueMs];
      });
      expect(overdueMs).toBeGreaterThan(0.8 * RETENTION_MS);
      expect(overdueMs).toBeLessThanOrEqual(RETENTION_MS);
      expect(left).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("count an attempt as queued when six others run, and not before", async () => {
    const bench = new ShardBench();
    const held = heldAnswer(() => new Response("{}"));
    bench.origin = held.origin;
    const sent = Array.from({ length: 7 }, () => bench.send(messageOf(headOf())));
    await bench.called(7);
    await runInDurableObject(bench.stub, async (instance) => {
      if (!(instance instanceof KeyShard)) throw new TypeError("no shard");
      expect(await numbersOf(instance)).toMatchObject({ callsInFlight: 7, inFlight: 7 });
      expect((await numbersOf(instance)).routes).toMatchObject([{ counts: { queued: { queued: 1 } } }]);
    });
    held.release();
    await Promise.all(sent);
  });
});

describe("a trace", () => {
  it("has a span for each attempt, also when one request leads to two", async () => {
    const bench = new ShardBench();
    const parents: (string | null)[] = [];
    const held = heldAnswer(() => new Response("busy", { status: 503 }));
    bench.origin = (request, number) => {
      parents.push(request.headers.get("traceparent"));
      return number === 1 ? held.origin(request, number) : new Response("{}", { status: 201 });
    };
    const trace = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", flags: "01" };
    const head = headOf({ telemetry: { log: "none", serverTiming: false, trace } });
    const first = bench.send(messageOf(head));
    await bench.called(1);
    // Delivered again, the message waits for its own attempt; the next attempt is a separate one.
    const second = bench.send(messageOf(head));
    held.release();
    await Promise.all([first, second]);
    await bench.send(messageOf(again(head)));
    expect(parents.length).toBeGreaterThan(1);
    expect(new Set(parents).size).toBe(parents.length);
    for (const parent of parents) expect(parent).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/);
  });
});

describe("what an isolate has counted", () => {
  function isolate(name: string): {
    readonly traffic: TrafficCounters;
    readonly flusher: TrafficFlusher;
    readonly waits: unknown[];
  } {
    const traffic = new TrafficCounters();
    const waits: unknown[] = [];
    const counting = (): DurableObjectStub => env.KEY_SHARD.getByName(name);
    const waitUntil = (promise: Promise<unknown>): void => void waits.push(promise);
    return { traffic, waits, flusher: new TrafficFlusher({ counting, traffic, waitUntil }) };
  }

  it("reaches a shard in one call, whatever its size", async () => {
    const name = crypto.randomUUID();
    const { traffic, flusher, waits } = isolate(name);
    for (let time = 0; time < 500; time += 1) {
      traffic.exchange(REPORT, Date.now());
      flusher.counted();
    }
    expect(waits).toHaveLength(1);
    await flusher.flush();
    await runInDurableObject(env.KEY_SHARD.getByName(name), async (instance) => {
      if (!(instance instanceof KeyShard)) throw new TypeError("no shard");
      expect((await numbersOf(instance)).routes).toMatchObject([
        { route: "/act", counts: { requests: { "key-missing": 500 } } },
      ]);
    });
  });

  it("is sent again under the same id when its object did not answer, with nothing that was counted since", async () => {
    const traffic = new TrafficCounters();
    traffic.exchange(REPORT, Date.now());
    const sent: SentBatch[] = [];
    const broken = {
      fetch: (_url: string, { body }: { readonly body: string }) => {
        sent.push(JSON.parse(body));
        return sent.length === 1
          ? Promise.reject(new Error("away"))
          : Promise.resolve(new Response(null, { status: 204 }));
      },
    };
    const counting = (): DurableObjectStub => Object.assign(env.KEY_SHARD.getByName(crypto.randomUUID()), broken);
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const waits: unknown[] = [];
    const flusher = new TrafficFlusher({ counting, traffic, waitUntil: (promise) => void waits.push(promise) });
    await flusher.flush();
    expect(warn).toHaveBeenCalledOnce();
    // It comes again also if nothing is counted any more.
    expect(waits).toHaveLength(1);
    traffic.exchange(REPORT, Date.now());
    await flusher.flush();
    expect(sent.map(({ id }) => id)).toEqual([sent[0]?.id, sent[0]?.id, sent[2]?.id]);
    expect(sent.map(({ exchanges }) => exchanges.length)).toEqual([1, 1, 1]);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(2);
  });
});

async function numbersOf(shard: KeyShard): Promise<ShardNumbers> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the call's own type
  return (await shard.ask(OPERATOR_CALLS.numbers.name, "")) as ShardNumbers;
}
