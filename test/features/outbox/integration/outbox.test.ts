// Events in a real shard (guarantee G11): they are written with their result, and relayed with the same id until a destination has
// taken them, whatever else fails.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { ALL_LANES, LONGEST_PAUSE_MS, NO_RECORD, type TryResult } from "../../../../src/kernel/record/outbox.ts";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { OperatedBench } from "../../../support/integration/operated-bench.ts";
import { heldAnswer, headOf, messageOf } from "../../../support/integration/shard-bench.ts";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { OutboxRelay, type RelayTarget } from "../../../../src/features/outbox/object/relay.ts";
import { IsolateWork } from "../../../../src/kernel/object/isolate-work.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { type Hook, Hooks, publishing, untilLeft } from "./hooks.ts";
import { silence } from "../../../support/integration/silence.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import { callsOf } from "../../../../src/kernel/object/itty.ts";
import { OUTBOX_CALLS } from "../../../../src/features/outbox/object/outbox-calls.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

const HOUR_MS = 3_600_000;

function scene(): { readonly bench: OperatedBench; readonly hooks: Hooks } {
  const bench = new OperatedBench();
  return { bench, hooks: new Hooks(bench) };
}

/** Lets time pass and gives the alarm, until nothing is being sent. */
async function after(bench: OperatedBench, ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  await bench.deliverAlarm();
}

/** The same for a caller of this lane. */
function ofCaller(lane: number, to: readonly Hook[]): ExchangeHead {
  const head = publishing(to);
  return { ...head, record: { ...head.record, lane } };
}

/** A receiver that answers so to the events of these requests, and takes all others. */
function refusing(hooks: Hooks, refused: ReadonlySet<string>, status: number): void {
  hooks.answer = () => {
    const id = hooks.received.at(-1)?.id ?? "";
    return new Response(null, { status: refused.has(id) ? status : 204 });
  };
}

const DOWN = (): Response => new Response(null, { status: 500 });

describe("an event", () => {
  it("goes to each destination once, with what the origin answered", async () => {
    const { bench, hooks } = scene();
    const head = publishing(["one", "two"]);
    await bench.send(messageOf(head));
    await bench.send(messageOf(head));
    await untilLeft(bench, 0);
    const { attemptId } = head.request;
    expect(hooks.received.map(({ hook, id }) => `${hook} ${id}`).toSorted()).toEqual([
      `one ${attemptId}-0`,
      `two ${attemptId}-1`,
    ]);
    expect(JSON.stringify(hooks.of("one")[0]?.event)).toContain("answer");
  });

  it("is not made of a result that `when` does not name, nor of a refusal", async () => {
    const { bench, hooks } = scene();
    await bench.send(messageOf(publishing(["one"], { when: [418] })));
    hooks.origin = () => new Response(null, { status: 503 });
    await bench.send(messageOf(publishing(["one"], { when: [503] })));
    await untilLeft(bench, 0);
    expect(hooks.received).toEqual([]);
  });

  it("is made of a streamed result, of an operator's and of the origin's answer to a question", async () => {
    const { bench, hooks } = scene();
    hooks.origin = () => {
      const body = new ReadableStream({
        type: "bytes",
        start(controller) {
          for (const text of ["a", "b"]) controller.enqueue(new TextEncoder().encode(text.repeat(40_000)));
          controller.close();
        },
      });
      return new Response(body);
    };
    await bench.send(messageOf(publishing(["one"])));
    await eventually(() => expect(hooks.of("one")).toHaveLength(1));
    expect(JSON.stringify(hooks.of("one")[0]?.event)).toContain(`${"a".repeat(40_000)}${"b".repeat(40_000)}`);

    hooks.origin = (request) =>
      request.url.endsWith("/look-up") ? new Response("found") : new Response(null, { status: 504 });
    const asked = publishing(["two"], {}, headOf({}, "verify"));
    await bench.send(messageOf(asked));
    await after(bench, 60_000);
    await eventually(() => expect(hooks.of("two")).toHaveLength(1));
    expect(JSON.stringify(hooks.of("two")[0]?.event)).toContain("found");

    const held = publishing(["three"], {}, headOf({}, "hold"));
    await bench.send(messageOf(held));
    await after(bench, 60_000);
    const event = { type: "resolve", by: "me", reason: "seen", status: 201 } as const;
    expect(await bench.change(held.record.id, event)).toMatchObject({ why: null });
    await eventually(() => expect(hooks.of("three")).toHaveLength(1));
    await untilLeft(bench, 0);
  });

  it("is sent again with the same id until it is taken", async () => {
    const { bench, hooks } = scene();
    hooks.answer = DOWN;
    await bench.send(messageOf(publishing(["one"])));
    await eventually(() => expect(hooks.received).toHaveLength(1));
    for (const [times, pause] of [5, 30, 300, 1800].entries()) {
      await after(bench, 1000);
      await after(bench, 1.3 * 1000 * pause);
      await eventually(() => expect(hooks.received).toHaveLength(times + 2));
    }
    hooks.answer = () => new Response(null, { status: 204 });
    await after(bench, 10 * HOUR_MS);
    await untilLeft(bench, 0);
    expect(new Set(hooks.received.map(({ id }) => id)).size).toBe(1);
  });

  it("is sent again after the object was lost while it was being sent", async () => {
    const { bench, hooks } = scene();
    const { origin, release } = heldAnswer(() => new Response(null, { status: 204 }));
    hooks.answer = () => origin(new Request("https://hooks.example"), 0);
    await bench.send(messageOf(publishing(["one"])));
    await eventually(() => expect(hooks.received).toHaveLength(1));
    await bench.lose();
    release();
    expect(await bench.alarmAt()).toBeLessThanOrEqual(Date.now() + 30_000);
    await after(bench, 30_000);
    await untilLeft(bench, 0);
    expect(hooks.received).toHaveLength(2);
    expect(hooks.received[1]).toEqual(hooks.received[0]);
  });

  it("is not lost if its receiver is down for an hour, and others get theirs meanwhile", async () => {
    const { bench, hooks } = scene();
    const taken: string[] = [];
    let isDown = true;
    hooks.answer = (hook) => {
      if (hook === "one" && isDown) return DOWN();
      if (hook === "one") taken.push(hooks.received.at(-1)?.id ?? "");
      return new Response(null, { status: 204 });
    };
    const attempts: string[] = [];
    for (let minute = 0; minute < 60; minute += 1) {
      const head = publishing(["one", "two"]);
      await bench.send(messageOf(head));
      attempts.push(head.request.attemptId);
      await after(bench, 60_000);
      await untilLeft(bench, attempts.length);
    }
    expect(taken).toEqual([]);
    expect(hooks.of("two").map(({ id }) => id)).toEqual(attempts.map((id) => `${id}-1`));
    isDown = false;
    await after(bench, 2 * LONGEST_PAUSE_MS);
    await untilLeft(bench, 0);
    expect(taken.toSorted()).toEqual(attempts.map((id) => `${id}-0`).toSorted());
  });

  it("dies after three days, is kept for thirty, and then erased", async () => {
    const { bench, hooks } = scene();
    hooks.answer = DOWN;
    await bench.send(messageOf(publishing(["one"])));
    await eventually(() => expect(hooks.received).toHaveLength(1));
    await after(bench, 72 * HOUR_MS);
    await eventually(() => expect(hooks.received).toHaveLength(2));
    hooks.answer = () => new Response(null, { status: 204 });
    await after(bench, 29 * 24 * HOUR_MS);
    await untilLeft(bench, 1);
    await after(bench, 2 * 24 * HOUR_MS);
    await untilLeft(bench, 0);
    expect(hooks.received).toHaveLength(2);
  });
});

describe("a destination that fails", () => {
  it("costs one call for each pause, however many events wait for it", async () => {
    const { bench, hooks } = scene();
    hooks.answer = DOWN;
    for (let events = 0; events < 10; events += 1) await bench.send(messageOf(publishing(["one"])));
    await eventually(() => expect(hooks.received).toHaveLength(1));
    for (const [times, pause] of [5, 30, 300, 300].entries()) {
      await after(bench, 1.3 * 1000 * pause);
      await eventually(() => expect(hooks.received).toHaveLength(times + 2));
      await after(bench, 1000);
      expect(hooks.received).toHaveLength(times + 2);
    }
    hooks.answer = () => new Response(null, { status: 204 });
    await after(bench, HOUR_MS);
    await after(bench, 10 * HOUR_MS);
    await untilLeft(bench, 0);
    expect(new Set(hooks.received.map(({ id }) => id)).size).toBe(10);
  });

  it("keeps no event from another destination, even if it does not answer", async () => {
    const { bench, hooks } = scene();
    const { origin, release } = heldAnswer(() => new Response(null, { status: 204 }));
    hooks.answer = (hook) =>
      hook === "one" ? origin(new Request("https://hooks.example"), 0) : new Response(null, { status: 204 });
    for (let events = 0; events < 5; events += 1) await bench.send(messageOf(publishing(["one", "two"])));
    await eventually(() => expect(hooks.of("two")).toHaveLength(5));
    expect(hooks.of("one")).toHaveLength(1);
    // Its next event waits for the end of the call, and so does the alarm.
    await bench.deliverAlarm();
    expect(await bench.alarmAt()).toBeGreaterThan(Date.now() + 20_000);
    release();
    await untilLeft(bench, 0);
    expect(hooks.of("one")).toHaveLength(5);
  });

  it("by refusing an event, and not by itself, takes the others meanwhile", async () => {
    const { bench, hooks } = scene();
    let calls = 0;
    hooks.answer = () => new Response(null, { status: (calls += 1) === 1 ? 422 : 204 });
    for (let events = 0; events < 5; events += 1) await bench.send(messageOf(publishing(["one"])));
    await untilLeft(bench, 1);
    expect(hooks.of("one")).toHaveLength(5);
    await after(bench, 7000);
    await untilLeft(bench, 0);
    expect(hooks.of("one")[5]?.id).toBe(hooks.of("one")[0]?.id);
  });

  it("rests as long as it asks for, and for a day when it is gone", async () => {
    const { bench, hooks } = scene();
    hooks.answer = (hook) =>
      new Response(null, hook === "one" ? { status: 429, headers: { "Retry-After": "3600" } } : { status: 410 });
    await bench.send(messageOf(publishing(["one", "two"])));
    await eventually(() => expect(hooks.received).toHaveLength(2));
    await after(bench, HOUR_MS - 1000);
    expect(hooks.received).toHaveLength(2);
    await after(bench, 2000);
    await eventually(() => expect(hooks.of("one")).toHaveLength(2));
    await after(bench, LONGEST_PAUSE_MS - 2 * HOUR_MS);
    expect(hooks.of("two")).toHaveLength(1);
    await after(bench, 2 * HOUR_MS);
    await eventually(() => expect(hooks.of("two")).toHaveLength(2));
  });
});

describe("an event that has failed while a clock was ahead by an hour", () => {
  it.each([
    ["and its instance lives on", (): Promise<void> => Promise.resolve()],
    ["and its instance is lost", (bench: OperatedBench): Promise<void> => bench.lose()],
  ])(
    "%s, is sent again at once when the clock is right: neither it nor its lane rests any longer",
    async (_what, between) => {
      const { bench, hooks } = scene();
      hooks.answer = DOWN;
      const right = Date.now();
      vi.setSystemTime(right + HOUR_MS);
      await bench.send(messageOf(publishing(["one"])));
      await eventually(async () =>
        expect((await callsOf(OUTBOX_CALLS, bench.stub).counts())[0]?.resting?.lanes).toBe(1),
      );
      await between(bench);
      hooks.answer = () => new Response(null, { status: 204 });
      vi.setSystemTime(right);
      await bench.send(messageOf(headOf()));
      await bench.deliverAlarm();
      await untilLeft(bench, 0);
      expect(hooks.received).toHaveLength(2);
    },
  );
});

describe("a destination that does not answer at all", () => {
  it("rests as a whole after three callers, is tried with another, and one answer ends that", async () => {
    const { bench, hooks } = scene();
    hooks.answer = () => {
      throw new Error("the connection broke");
    };
    const resting = async (): Promise<unknown> =>
      (await callsOf(OUTBOX_CALLS, bench.stub).counts())[0]?.resting?.lanes ?? 0;
    for (let lane = 0; lane < 6; lane += 1) await bench.send(messageOf(ofCaller(lane, ["one"])));
    await eventually(async () => expect(await resting()).toBe(ALL_LANES));
    expect(hooks.received).toHaveLength(3);
    await after(bench, 6500);
    await eventually(() => expect(hooks.received).toHaveLength(4));
    expect(new Set(hooks.received.map(({ id }) => id)).size).toBe(4);
    // It refuses what the next caller sends: so it is there, and the last one's turn comes at once.
    hooks.answer = () => new Response(null, { status: hooks.received.length === 5 ? 403 : 204 });
    await after(bench, 38_000);
    await untilLeft(bench, 1);
    expect(new Set(hooks.received.map(({ id }) => id)).size).toBe(6);
    expect(await resting()).toBe(1);
  });
});

describe("a destination that refuses one caller's events", () => {
  it.each([403, 500])("with %i takes those of another at once, whichever came first", async (status) => {
    const { bench, hooks } = scene();
    const refused = new Set<string>();
    refusing(hooks, refused, status);
    const send = async (lane: number): Promise<string> => {
      const head = ofCaller(lane, ["one"]);
      const id = `${head.request.attemptId}-0`;
      if (lane === 1) refused.add(id);
      await bench.send(messageOf(head));
      return id;
    };
    for (let events = 0; events < 10; events += 1) await send(1);
    const wanted: string[] = [];
    for (let events = 0; events < 20; events += 1) wanted.push(await send(2));
    for (let events = 0; events < 10; events += 1) await send(1);
    await untilLeft(bench, 20);
    expect(hooks.received.filter(({ id }) => wanted.includes(id)).map(({ id }) => id)).toEqual(wanted);
    // The caller whose events are refused has a rest as long as any destination that fails.
    expect(hooks.received.filter(({ id }) => refused.has(id))).toHaveLength(1);
    hooks.answer = () => new Response(null, { status: 204 });
    await after(bench, HOUR_MS);
    await untilLeft(bench, 0);
  });

  it("and of the same caller some, takes the others after one short rest", async () => {
    const { bench, hooks } = scene();
    const refused = new Set<string>();
    refusing(hooks, refused, 500);
    for (let events = 0; events < 20; events += 1) {
      const head = ofCaller(1, ["one"]);
      if (events === 0) refused.add(`${head.request.attemptId}-0`);
      await bench.send(messageOf(head));
    }
    await eventually(() => expect(hooks.received).toHaveLength(1));
    await after(bench, 6500);
    await untilLeft(bench, 1);
    // Since another was taken, its next failure is its own: those that come meanwhile do not wait for it.
    await bench.send(messageOf(ofCaller(1, ["one"])));
    await untilLeft(bench, 1);
    const before = hooks.received.length;
    await after(bench, 60_000);
    await eventually(() => expect(hooks.received).toHaveLength(before + 1));
    await bench.send(messageOf(ofCaller(1, ["one"])));
    await untilLeft(bench, 1);
  });

  it("and those of fourteen others, takes those of another at once", async () => {
    const { bench, hooks } = scene();
    const refused = new Set<string>();
    refusing(hooks, refused, 500);
    for (let lane = 0; lane < 15; lane += 1) {
      const head = ofCaller(lane, ["one"]);
      refused.add(`${head.request.attemptId}-0`);
      await bench.send(messageOf(head));
    }
    await eventually(() => expect(hooks.received).toHaveLength(15));
    await bench.send(messageOf(ofCaller(15, ["one"])));
    await untilLeft(bench, 15);
  });

  it("with Retry-After calls only that caller's later", async () => {
    const { bench, hooks } = scene();
    hooks.answer = DOWN;
    await bench.send(messageOf(ofCaller(1, ["one"])));
    await eventually(() => expect(hooks.received).toHaveLength(1));
    hooks.answer = () => new Response(null, { status: 429, headers: { "Retry-After": "3600" } });
    await bench.send(messageOf(ofCaller(2, ["one"])));
    await eventually(() => expect(hooks.received).toHaveLength(2));
    hooks.answer = () => new Response(null, { status: 204 });
    await after(bench, 7000);
    await untilLeft(bench, 1);
    expect(hooks.received[2]?.id).toBe(hooks.received[0]?.id);
    await after(bench, HOUR_MS);
    await untilLeft(bench, 0);
  });

  it("lets no event die that was never sent", async () => {
    const { bench, hooks } = scene();
    hooks.answer = DOWN;
    const ids: string[] = [];
    for (let events = 0; events < 5; events += 1) {
      const head = ofCaller(1, ["one"]);
      ids.push(`${head.request.attemptId}-0`);
      await bench.send(messageOf(head));
    }
    await eventually(() => expect(hooks.received).toHaveLength(1));
    // Longer than an event is tried, while nothing is sent at all.
    vi.setSystemTime(Date.now() + 100 * HOUR_MS);
    await bench.deliverAlarm();
    await eventually(async () => {
      const [counts] = await callsOf(OUTBOX_CALLS, bench.stub).counts();
      expect(counts).toMatchObject({ pending: 0, dead: 5 });
    });
    expect(new Set(hooks.received.map(({ id }) => id))).toEqual(new Set(ids));
  });
});

interface Relay {
  readonly outbox: OutboxRelay;
  readonly store: OutboxStore;
}

/** A relay over an object's database, in which these events have been published to a queue. */
function relayOf(
  storage: DurableObjectStorage,
  ids: readonly string[],
  { send, isolate = new IsolateWork() }: Pick<RelayTarget, "send"> & { readonly isolate?: IsolateWork },
): Relay {
  const ledger = new Ledger(storage);
  const target: RelayTarget = {
    giveUpAfterMs: durationMs(72 * HOUR_MS),
    keepDeadMs: durationMs(HOUR_MS),
    batch: { events: 100, bytes: 250_000 },
    send,
  };
  const store = new OutboxStore(ledger.tables);
  const outbox = new OutboxRelay({
    ledger,
    store,
    alarm: { moveTo: () => undefined },
    waitUntil: () => undefined,
    isolate,
    destination: () => target,
    count: () => undefined,
    alerts: { diedEvents: () => undefined },
  });
  const events = ids.map((id) => ({ id, destination: "queue", lane: 0, event: "{}" }));
  ledger.together(() => store.events.insert(NO_RECORD, events, epochMs(Date.now())));
  store.events.added();
  return { outbox, store };
}

/** What a queue was sent that refuses batches with `poison`. */
async function relayedBatches(ids: readonly string[], poison: string): Promise<readonly (readonly string[])[]> {
  const sent: (readonly string[])[] = [];
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  await runInDurableObject(stub, async (_instance, { storage }) => {
    const { outbox, store } = relayOf(storage, ids, {
      send: (events) => {
        const batch = events.map(({ id }) => id);
        sent.push(batch);
        const refusal = { kind: "failed", reason: "too long", retryAfterMs: null, scope: "lane" } as const;
        return Promise.resolve(batch.includes(poison) ? refusal : { kind: "accepted" });
      },
    });
    outbox.continue();
    const restedUntil = (): number => store.events.rests.of("queue").get(0)?.until ?? 0;
    await eventually(() => expect(restedUntil()).toBeGreaterThan(0));
    vi.setSystemTime(restedUntil());
    outbox.continue();
    await eventually(() => expect(store.events.lanes("queue")[0]?.due).toBeGreaterThan(0));
    const left = (): unknown => storage.sql.exec("SELECT id, tries FROM outbox").toArray();
    const poisoned = (): unknown => [{ id: poison, tries: sent.filter((batch) => batch.includes(poison)).length }];
    await eventually(() => expect(left()).toEqual(poisoned()));
  });
  return sent;
}

describe("an isolate that is about to end", () => {
  it("ends when a call that delivers an event has ended, and begins no other", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    await runInDurableObject(stub, async (_instance, { storage }) => {
      const called = Promise.withResolvers<void>();
      const isolate = new IsolateWork();
      let calls = 0;
      const send = async (): Promise<TryResult> => {
        calls += 1;
        await called.promise;
        return { kind: "failed", reason: "away", retryAfterMs: 0, scope: "lane" };
      };
      const { outbox, store } = relayOf(storage, ["event"], { send, isolate });
      outbox.continue();
      let hasEnded = false;
      const ending = isolate
        .end()
        .text()
        .then(() => (hasEnded = true));
      await scheduler.wait(100);
      expect([calls, hasEnded]).toEqual([1, false]);
      called.resolve();
      await ending;
      vi.setSystemTime(Date.now() + HOUR_MS);
      outbox.continue();
      expect([calls, store.events.lanes("queue").length]).toEqual([1, 1]);
    });
  });
});

describe("a queue that does not take one event of a batch", () => {
  it("takes all others, of which none rests for the failure, and each batch is a try of its events", async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `event-${at}`);
    const poison = "event-40";
    const sent = await relayedBatches(ids, poison);
    expect(sent[0]).toEqual(ids);
    const refused = sent.filter((batch) => batch.includes(poison));
    // It is found by a few batches, each of which begins with one event.
    expect(refused.length).toBeLessThan(8);
    expect(refused.at(-1)).toEqual([poison]);
    // None of the others was tried alone because it had failed before: each is in the batches that were refused, and in one that was taken.
    const taken = sent.filter((batch) => !batch.includes(poison)).flat();
    expect(taken.toSorted()).toEqual(ids.filter((id) => id !== poison).toSorted());
  });
});
