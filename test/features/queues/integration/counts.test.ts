// What a message of a queue costs, in exact operations: those of a request (test/bench/cost/operation-counts.ts).

import { describe, expect, it } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";

async function begun(): Promise<CountedShard> {
  const shard = new CountedShard();
  await shard.begin();
  return shard;
}

describe("the operations of", () => {
  it("a queue's message are those of a request, and a duplicate delivery writes no row", async () => {
    const shard = await begun();
    const id = crypto.randomUUID();
    shard.take();
    expect(await shard.deliver(id)).toBe(1);
    expect(shard.take()).toEqual(COUNTS.first);
    expect(await shard.deliver(id)).toBe(1);
    expect(shard.take()).toEqual(COUNTS.replay);
    expect(COUNTS.replay.rowsWritten).toBe(0);
  });

  it("a batch of a queue are those of its messages, but for the calls of their object, which they share", async () => {
    const shard = await begun();
    const ids = Array.from({ length: 5 }, () => crypto.randomUUID());
    shard.take();
    expect(await shard.deliver(...ids)).toBe(5);
    const { first, replay } = COUNTS;
    expect(shard.take()).toMatchObject({ objectCalls: 1, originCalls: 5, rowsWritten: 5 * first.rowsWritten });
    expect(await shard.deliver(...ids)).toBe(5);
    expect(shard.take()).toMatchObject({ objectCalls: 1, originCalls: 0, rowsWritten: 5 * replay.rowsWritten });
  });
});
