// Regression test: what the events of a result cost, in exact operations, until their destination has taken them. The numbers that money
// is counted from are in test/bench/cost/operation-counts.ts.

import { afterEach, expect, it, vi } from "vitest";
import { COUNTS, type OperationCounts } from "../../../bench/cost/operation-counts.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { silence } from "../../../support/integration/silence.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

/** Longer than a destination rests after its first failures, and an event after its own. */
const PAUSE_MS = 60_000;

afterEach(() => void vi.useRealTimers());

const DOWN = (): Response => new Response(null, { status: 500 });

async function begun(...to: readonly string[]): Promise<CountedShard> {
  vi.useFakeTimers({ toFake: ["Date"] });
  const shard = new CountedShard({ publish: to.map((name) => ({ to: name, type: "done" })) });
  await shard.begin();
  await untilLeft(shard, 0);
  shard.take();
  return shard;
}

async function untilLeft(shard: CountedShard, count: number): Promise<void> {
  const left = (): Promise<number> =>
    shard.within((_ledger, { sql }) => Number(sql.exec("SELECT count(*) AS n FROM outbox").one()["n"]));
  // Polled by real time; the count reads by a ledger of its own, whose statements are the object's too.
  await eventually(async () => expect(await left()).toBe(count));
}

/** Resolves when these have been counted since the last call; what comes afterwards belongs to the next one. */
async function untilCounted(shard: CountedShard, counts: OperationCounts): Promise<void> {
  await eventually(() => expect(shard.counts).toEqual(counts));
  shard.take();
}

/** The alarm comes when the events are due. */
async function later(shard: CountedShard): Promise<void> {
  vi.setSystemTime(Date.now() + PAUSE_MS);
  expect(await shard.alarm()).toBe(true);
}

it.each(["one", "line"])("an event that is taken at once costs two rows: %s", async (to) => {
  const shard = await begun(to);
  await shard.send(crypto.randomUUID());
  await untilCounted(shard, COUNTS.published);
  expect(COUNTS.published.rowsWritten).toBe(COUNTS.first.rowsWritten + 2);
  expect(COUNTS.published.alarmsSet).toBe(0);
});

it("each event costs two rows, and each destination of its own", async () => {
  const shard = await begun("one", "two", "line");
  await shard.send(crypto.randomUUID());
  await eventually(() => expect(shard.counts.rowsWritten).toBe(COUNTS.first.rowsWritten + 3 * 2));
  expect(shard.take().alarmsSet).toBe(0);
});

it("a try that fails costs two rows and an alarm, whether it is the first or the alarm's", async () => {
  const shard = await begun("one");
  shard.hook = DOWN;
  await shard.send(crypto.randomUUID());
  await untilCounted(shard, COUNTS.publishedInVain);
  expect(COUNTS.publishedInVain.rowsWritten).toBe(COUNTS.first.rowsWritten + 1 + 2);
  await later(shard);
  await untilCounted(shard, COUNTS.sentInVain);
});

it("an event that is taken after a failed try costs two rows for the try, and one for the end of its destination's rest", async () => {
  const shard = await begun("one");
  shard.hook = DOWN;
  await shard.send(crypto.randomUUID());
  await untilCounted(shard, COUNTS.publishedInVain);
  shard.hook = () => new Response(null, { status: 204 });
  await later(shard);
  await untilCounted(shard, COUNTS.sentAfterRest);
  const { publishedInVain, sentAfterRest, published } = COUNTS;
  expect(publishedInVain.rowsWritten + sentAfterRest.rowsWritten).toBe(published.rowsWritten + 2 + 1);
});

it("an event for a destination that rests costs its row alone, and no call", async () => {
  const shard = await begun("one");
  shard.hook = DOWN;
  await shard.send(crypto.randomUUID());
  await untilCounted(shard, COUNTS.publishedInVain);
  const { hookCalls } = shard;
  await shard.send(crypto.randomUUID());
  await untilCounted(shard, COUNTS.publishedToResting);
  expect(shard.hookCalls).toBe(hookCalls);
});

it("while no destination can be reached, a hundred events cost one try for each rest", async () => {
  const shard = await begun("one", "two");
  shard.hook = () => Promise.reject(new TypeError("away"));
  await Promise.all(Array.from({ length: 50 }, () => shard.send(crypto.randomUUID())));
  await untilLeft(shard, 100);
  shard.take();
  await later(shard);
  // Two destinations: of each, one event moves and the rest begins anew.
  await eventually(() => expect(shard.counts.rowsWritten).toBe(2 * 2));
  expect(shard.counts.alarmsSet).toBeLessThanOrEqual(2);
});
