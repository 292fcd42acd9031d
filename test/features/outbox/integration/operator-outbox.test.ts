// Operators and the outbox of a shard: what is listed and counted, and what becomes of events that are sent again or dropped.

import { describe, expect, it, vi } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { completed, freshId, NOW, started } from "../../../support/integration/records.ts";
import { OperatedBench } from "../../../support/integration/operated-bench.ts";
import { heldAnswer, messageOf } from "../../../support/integration/shard-bench.ts";
import { Hooks, publishing, untilLeft } from "./hooks.ts";
import { silence } from "../../../support/integration/silence.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import { saveWithEvents } from "./saved-events.ts";
import { callsOf } from "../../../../src/kernel/object/itty.ts";
import { OUTBOX_CALLS } from "../../../../src/features/outbox/object/outbox-calls.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

const HOUR_MS = 3_600_000;
const FAR = epochMs(2 ** 50);
const ALL = { destination: null, state: null, after: null, limit: 500 };
const EVERY = { destination: "one", state: null, event: null };
const DOWN = (): Response => new Response(null, { status: 500 });

function scene(): { readonly bench: OperatedBench; readonly hooks: Hooks } {
  const bench = new OperatedBench();
  return { bench, hooks: new Hooks(bench) };
}

/** An event that has died. */
async function deadEvent(): Promise<ReturnType<typeof scene>> {
  const { bench, hooks } = scene();
  hooks.answer = DOWN;
  await bench.send(messageOf(publishing(["one"])));
  await eventually(() => expect(hooks.received).toHaveLength(1));
  vi.setSystemTime(Date.now() + 72 * HOUR_MS);
  await bench.deliverAlarm();
  await eventually(async () => expect(await callsOf(OUTBOX_CALLS, bench.stub).counts()).toMatchObject([{ dead: 1 }]));
  return { bench, hooks };
}

/** Events of an object that nobody relays, because no alarm comes. */
async function stored(bench: OperatedBench, destination: string, ids: readonly string[]): Promise<void> {
  await bench.within((ledger) => {
    const record = freshId();
    const claim = started();
    ledger.save(record, null, claim);
    const events = ids.map((id) => ({ id, destination, lane: 0, event: "{}" }));
    saveWithEvents(ledger, record, completed(claim), events);
  });
  // The object itself finds the tables when it is loaded.
  await bench.evict();
}

describe("a dead event", () => {
  it("is counted, and listed without its data", async () => {
    const { bench } = await deadEvent();
    expect(await callsOf(OUTBOX_CALLS, bench.stub).counts()).toMatchObject([
      { destination: "one", pending: 0, dead: 1, atLeast: [], oldestPending: null, resting: null },
    ]);
    const { events, next } = await callsOf(OUTBOX_CALLS, bench.stub).list({ ...ALL, state: "dead" });
    expect(next).toBeNull();
    expect(events).toMatchObject([{ destination: "one", state: "dead", tries: 2, last: "status 500" }]);
    expect(events[0]).not.toHaveProperty("event");
    expect(await callsOf(OUTBOX_CALLS, bench.stub).list({ ...ALL, state: "pending" })).toMatchObject({ events: [] });
  });

  it("that is sent again has its id, begins anew and need not wait for its destination's rest", async () => {
    const { bench, hooks } = await deadEvent();
    const { id } = hooks.received[0] ?? {};
    expect(await callsOf(OUTBOX_CALLS, bench.stub).change({ ...EVERY, action: "resend" })).toEqual({
      events: 1,
      more: false,
    });
    await eventually(() => expect(hooks.received).toHaveLength(3));
    await eventually(async () =>
      expect((await callsOf(OUTBOX_CALLS, bench.stub).list(ALL)).events).toMatchObject([
        { id, state: "pending", tries: 1 },
      ]),
    );
    hooks.answer = () => new Response(null, { status: 204 });
    await callsOf(OUTBOX_CALLS, bench.stub).change({ ...EVERY, action: "resend" });
    await untilLeft(bench, 0);
    expect(new Set(hooks.received.map((one) => one.id)).size).toBe(1);
    const { routes } = await bench.operator.numbers();
    const counts = routes.find(({ route }) => route === "outbox:one")?.counts.events;
    expect(counts).toEqual({ relayed: 1, failed: 3, dead: 1 });
  });

  it("can be named by its place and id, and is not found under another id", async () => {
    const { bench } = await deadEvent();
    const [event] = (await callsOf(OUTBOX_CALLS, bench.stub).list(ALL)).events;
    if (event === undefined) throw new Error("no event");
    const drop = { ...EVERY, action: "drop" } as const;
    const other = { ...drop, event: { id: "other", at: event.at } };
    expect(await callsOf(OUTBOX_CALLS, bench.stub).change(other)).toEqual({ events: 0, more: false });
    expect(await callsOf(OUTBOX_CALLS, bench.stub).change({ ...drop, event })).toEqual({ events: 1, more: false });
    await untilLeft(bench, 0);
    expect(await callsOf(OUTBOX_CALLS, bench.stub).counts()).toEqual([]);
  });
});

it("an event that is dropped while it is being sent does not return when that fails", async () => {
  const { bench, hooks } = scene();
  const { origin, release } = heldAnswer(DOWN);
  hooks.answer = () => origin(new Request("https://hooks.example"), 0);
  await bench.send(messageOf(publishing(["one"])));
  await eventually(() => expect(hooks.received).toHaveLength(1));
  expect(await callsOf(OUTBOX_CALLS, bench.stub).change({ ...EVERY, action: "drop" })).toEqual({
    events: 1,
    more: false,
  });
  await bench.operator.numbers();
  release();
  await eventually(async () => {
    const { routes } = await bench.operator.numbers();
    expect(routes.find(({ route }) => route === "outbox:one")?.counts).toEqual({ events: { failed: 1 } });
  });
  await untilLeft(bench, 0);
});

it("pages hold each event once, by destination and state", async () => {
  const bench = new OperatedBench();
  await stored(bench, "b", ["1", "2", "3"]);
  await stored(bench, "a", ["4", "5"]);
  const dead = await bench.within((ledger) => {
    const [event] = new OutboxStore(ledger.tables).events.due("b", 0, FAR, { events: 1, bytes: 0 });
    if (event === undefined) throw new Error("no event");
    new OutboxStore(ledger.tables).events.move(event, DEAD + NOW, { at: NOW });
    return event.id;
  });
  const listed: string[] = [];
  let after: string | null = null;
  do {
    const page = await callsOf(OUTBOX_CALLS, bench.stub).list({ ...ALL, after, limit: 2 });
    listed.push(...page.events.map(({ id }) => id));
    after = page.next;
  } while (after !== null);
  expect(listed).toEqual(["4", "5", ...["1", "2", "3"].filter((id) => id !== dead), dead]);
  const only = await callsOf(OUTBOX_CALLS, bench.stub).list({ ...ALL, destination: "b", state: "dead", limit: 1 });
  expect(only.events).toMatchObject([{ id: dead }]);
});

it("a call changes a hundred events at most and says that there may be more", async () => {
  const bench = new OperatedBench();
  await stored(
    bench,
    "one",
    Array.from({ length: 150 }, (_, number) => String(number)),
  );
  const drop = { ...EVERY, action: "drop" } as const;
  expect(await callsOf(OUTBOX_CALLS, bench.stub).change(drop)).toEqual({ events: 100, more: true });
  expect(await callsOf(OUTBOX_CALLS, bench.stub).change(drop)).toEqual({ events: 50, more: false });
});
