// What a change of the layout costs, in exact operations: one question and one row more for a first request of whose key no list tells,
// and nothing otherwise.

import { afterAll, expect, it, vi } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { Deployments, keyThatBegins } from "../../../support/integration/deployments.ts";

afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const fresh = (): string => crypto.randomUUID();

/** More than one list has. */
const MANY = 4100;

/** What hashes begin with. */
const DIGITS = Array.from({ length: 16 }, (_, digit) => digit.toString(16));

/** An object of a newer layout, and the questions that its elder is asked, of which it is the only one. */
async function transition(): Promise<{ shard: CountedShard; asks: () => number; elder: Deployments; key: string }> {
  const elder = new Deployments();
  const key = fresh();
  await elder.deploy(1).send(key);
  const asks = await elder.asks(1, key);
  const shard = new CountedShard({ shards: elder.layout(2), previous_shards: [elder.layout(1)] });
  return { shard, asks, elder, key };
}

it("a first request asks an elder that holds many keys once for a part of them, and stores the list as one row", async () => {
  const { shard, asks, elder, key } = await transition();
  await elder.fill(1, key, MANY);
  await shard.begin();
  const { rowsWritten, alarmsSet, syncs, objectCalls, originCalls } = COUNTS.first;
  const start = asks();
  for (const digit of DIGITS) {
    const before = asks();
    shard.take();
    await shard.send(await keyThatBegins(digit));
    const asked = asks() - before;
    expect(asked).toBeLessThanOrEqual(1);
    const written = rowsWritten + asked;
    expect(shard.take()).toMatchObject({ rowsWritten: written, alarmsSet, syncs, objectCalls, originCalls });
  }
  // The first requests of the object have asked for a part or two.
  expect(asks() - start).toBeGreaterThan(DIGITS.length - 4);
  const known = asks();
  for (const digit of DIGITS) {
    await shard.send(await keyThatBegins(digit));
    expect(shard.take()).toEqual(COUNTS.first);
  }
  expect(asks()).toBe(known);
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

it("a newer object stores one row about an elder with many keys, one for each list, and one for all when few are left", async () => {
  const { shard, elder, key } = await transition();
  await elder.fill(1, key, MANY);
  const lists = (): Promise<readonly string[]> =>
    shard.within((_ledger, { sql }) =>
      sql
        .exec<{ begin: string }>("SELECT begin FROM listed ORDER BY begin")
        .toArray()
        .map(({ begin }) => begin),
    );
  await shard.begin();
  const [half, others] = [DIGITS.slice(0, 8), DIGITS.slice(8)];
  for (const digit of half) await shard.send(await keyThatBegins(digit));
  expect(await lists()).toEqual(expect.arrayContaining(half));
  await elder.within(1, key, (_ledger, { sql }) => {
    sql.exec("DELETE FROM records");
  });
  // The next list is of a part again, and empty; the one after it is of all keys.
  for (const digit of others) await shard.send(await keyThatBegins(digit));
  expect(await lists()).toEqual([""]);
});
