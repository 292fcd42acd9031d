// What a change of the layout costs, in exact operations: one question more for a first request as long as the older object holds
// many keys, no row more, and nothing when it holds few.

import { afterAll, expect, it, vi } from "vitest";
import { COUNTS } from "../../../src/cli/operation-counts.ts";
import { CountedShard } from "../support/counted-shard.ts";
import { Deployments } from "../support/deployments.ts";

afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const fresh = (): string => crypto.randomUUID();

/** An object of a newer layout, and the questions that its elder is asked, of which it is the only one. */
async function transition(): Promise<{ shard: CountedShard; asks: () => number; elder: Deployments; key: string }> {
  const elder = new Deployments();
  const key = fresh();
  await elder.deploy(1).send(key);
  const asks = await elder.asks(1, key);
  const shard = new CountedShard({ shards: elder.layout(2), previous_shards: [elder.layout(1)] });
  return { shard, asks, elder, key };
}

/** Gives the elder so many records more. */
function fill(elder: Deployments, key: string, more: number): Promise<void> {
  return elder.within(1, key, (_ledger, { sql }) => {
    const columns = sql
      .exec("SELECT * FROM records LIMIT 0")
      .columnNames.filter((name) => !["id", "number"].includes(name));
    for (let number = 0; number < more; number += 1) {
      const copied = columns.join(", ");
      sql.exec(`INSERT INTO records (id, ${copied}) SELECT ?, ${copied} FROM records LIMIT 1`, fresh());
    }
  });
}

it("a first request asks an elder that holds many keys once, and writes no row more", async () => {
  const { shard, asks, elder, key } = await transition();
  await fill(elder, key, 256);
  await shard.begin();
  const before = asks();
  await shard.send(fresh());
  const { rowsWritten, alarmsSet, syncs, objectCalls, originCalls } = COUNTS.first;
  expect(shard.take()).toMatchObject({ rowsWritten, alarmsSet, syncs, objectCalls, originCalls });
  expect(asks()).toBe(before + 1);
});

it("a first request costs what it costs without a change, when the elder holds few keys", async () => {
  // One record stays there, as an undecided one may for a year.
  const { shard, asks } = await transition();
  await shard.begin();
  const before = asks();
  const key = fresh();
  await shard.send(key);
  expect(shard.take()).toEqual(COUNTS.first);
  await shard.send(key);
  expect(shard.take()).toEqual(COUNTS.replay);
  await shard.restart();
  await shard.send(fresh());
  expect(shard.take()).toEqual(COUNTS.firstOfInstance);
  expect(asks()).toBe(before);
});

it("a newer object stores one row about an elder with many keys, and another when it learns that they are few", async () => {
  const { shard, elder, key } = await transition();
  await fill(elder, key, 256);
  const rows = (): Promise<number> =>
    shard.within((_ledger, { sql }) => sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n);
  const written = async (): Promise<number> => {
    const before = await rows();
    await shard.send(fresh());
    return (await rows()) - before;
  };
  await shard.begin();
  const usual = await written();
  await elder.within(1, key, (_ledger, { sql }) => {
    sql.exec("DELETE FROM records");
  });
  // An elder with many keys looks again after ten seconds.
  const clock = vi.spyOn(Date, "now");
  const soon = Date.now() + 9000;
  clock.mockImplementation(() => soon);
  expect(await written()).toBe(usual);
  const late = soon + 1500;
  clock.mockImplementation(() => late);
  expect(await written()).toBe(usual + 1);
  expect(await written()).toBe(usual);
  vi.spyOn(Date, "now").mockRestore();
});
