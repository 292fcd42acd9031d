// Regression test: what an accepted request costs over its life, in exact operations, and what a look at its monitor does. The numbers
// that money is counted from are in test/bench/cost/operation-counts.ts.

import { afterEach, expect, it, vi } from "vitest";
import { COUNTS, ERASED_AT_ONCE, type OperationCounts } from "../../../bench/cost/operation-counts.ts";
import { PLACES } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { heldAnswer } from "../../../support/integration/shard-bench.ts";
import { eventually } from "../../../support/eventually.ts";

/** Longer than the pause that the origin asks for. */
const PAUSE_MS = 700_000;

const LARGE = "x".repeat(100_000);

afterEach(() => void vi.useRealTimers());

async function begun(): Promise<CountedShard> {
  const shard = new CountedShard({ async: "prefer" });
  await shard.begin();
  return shard;
}

/** Resolves when these have been counted since the last call; what comes afterwards belongs to the next one. */
async function untilCounted(shard: CountedShard, counts: Partial<OperationCounts>): Promise<void> {
  await eventually(() => expect(shard.counts).toMatchObject(counts));
  shard.take();
}

function refusing(): Response {
  return new Response("not now", { status: 503, headers: { "retry-after": "600" } });
}

/** An origin that answers nothing before `release`. */
function hold(shard: CountedShard): () => void {
  const held = heldAnswer(() => new Response("{}", { status: 201 }));
  let calls = 0;
  shard.origin = () => held.origin(new Request("http://origin.example"), ++calls);
  return held.release;
}

it("a request that is begun at once writes as many rows as any first request", async () => {
  const shard = await begun();
  const monitor = await shard.accept(crypto.randomUUID());
  await untilCounted(shard, COUNTS.accepted);
  expect(COUNTS.accepted.rowsWritten + COUNTS.erased.rowsWritten / ERASED_AT_ONCE).toBe(3);
  expect(await shard.look(monitor)).toBe(201);
  expect(shard.take()).toEqual(COUNTS.replay);
});

it("a body that is too large for its row costs four rows and a turn of the alarm more", async () => {
  const shard = await begun();
  const monitor = await shard.accept(crypto.randomUUID(), LARGE);
  await untilCounted(shard, { rowsWritten: COUNTS.accepted.rowsWritten + 4, alarmsSet: 2, originCalls: 1 });
  expect(await shard.look(monitor)).toBe(201);
});

it("a look at a request that runs or waits writes nothing", async () => {
  const shard = await begun();
  const release = hold(shard);
  const monitors: string[] = [];
  for (let count = 0; count <= PLACES; count += 1) monitors.push(await shard.accept(crypto.randomUUID()));
  const [running = "", waiting = ""] = [monitors.at(0), monitors.at(-1)];
  shard.take();
  expect(await shard.look(running)).toBe(202);
  expect(shard.take()).toEqual(COUNTS.lookAtRunning);
  expect(await shard.look(waiting)).toBe(202);
  expect(shard.take()).toEqual(COUNTS.lookAtWaiting);
  release();
  // Otherwise the next test would count the attempt that begins now.
  await untilCounted(shard, { rowsWritten: PLACES + 2 });
});

it("a request that waits for its turn writes two rows more and sets no alarm", async () => {
  const shard = await begun();
  const release = hold(shard);
  for (let count = 0; count < PLACES; count += 1) await shard.accept(crypto.randomUUID());
  await untilCounted(shard, { rowsWritten: PLACES, originCalls: PLACES });
  await shard.accept(crypto.randomUUID());
  // Its record, and its place in the index.
  expect(shard.take()).toMatchObject({ rowsWritten: 2, alarmsSet: 0, originCalls: 0 });
  release();
  // The ends of all, and the beginning of the last one.
  await untilCounted(shard, { rowsWritten: PLACES + 2, alarmsSet: 0, originCalls: 1 });
});

it.each([
  ["a small body", "{}", 0],
  ["a large body", LARGE, 1],
])(
  "each refused attempt writes three rows, the second and later ones with two alarms: %s",
  async (_name, body, chunks) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const shard = await begun();
    shard.origin = refusing;
    await shard.accept(crypto.randomUUID(), body);
    await untilCounted(shard, { rowsWritten: 3 + chunks, alarmsSet: 0, originCalls: 1 });
    for (let again = 0; again < 2; again += 1) {
      vi.setSystemTime(Date.now() + PAUSE_MS);
      expect(await shard.alarm()).toBe(true);
      await untilCounted(shard, { rowsWritten: 3, alarmsSet: 2, originCalls: 1 });
    }
  },
);
