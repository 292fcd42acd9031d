// What a change of the layout costs, in exact operations: one question more for a first request of whose key no list tells, no row
// more, and nothing otherwise.

import { afterAll, expect, it, vi } from "vitest";
import { COUNTS } from "../../../src/cli/operation-counts.ts";
import { keyHash } from "../../../src/http/record-name.ts";
import { CountedShard } from "../support/counted-shard.ts";
import { Deployments, keyThatBegins } from "../support/deployments.ts";

afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const fresh = (): string => crypto.randomUUID();

/** More than one list has. */
const MANY = 4100;

const beginOf = async (key: string): Promise<string> => (await keyHash(key)).slice(0, 1);
const otherThan = (digit: string): string => (digit === "0" ? "1" : "0");

/** An object of a newer layout, and the questions that its elder is asked, of which it is the only one. */
async function transition(): Promise<{ shard: CountedShard; asks: () => number; elder: Deployments; key: string }> {
  const elder = new Deployments();
  const key = fresh();
  await elder.deploy(1).send(key);
  const asks = await elder.asks(1, key);
  const shard = new CountedShard({ shards: elder.layout(2), previous_shards: [elder.layout(1)] });
  return { shard, asks, elder, key };
}

it("a first request asks an elder that holds many keys once for a part of them, and writes no row more", async () => {
  const { shard, asks, elder, key } = await transition();
  await elder.fill(1, key, MANY);
  await shard.begin();
  const part = await beginOf(fresh());
  await shard.send(await keyThatBegins(part));
  shard.take();
  const before = asks();
  await shard.send(await keyThatBegins(part));
  expect(shard.take()).toEqual(COUNTS.first);
  expect(asks()).toBe(before);
  await shard.send(await keyThatBegins(otherThan(part)));
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

it("a newer object stores one row about an elder with many keys, and another when it is told of all that are left", async () => {
  const { shard, elder, key } = await transition();
  await elder.fill(1, key, MANY);
  const rows = (): Promise<number> =>
    shard.within((_ledger, { sql }) => sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n);
  const written = async (begin: string): Promise<number> => {
    const sent = await keyThatBegins(begin);
    const before = await rows();
    await shard.send(sent);
    return (await rows()) - before;
  };
  await shard.begin();
  await shard.send(await keyThatBegins("1"));
  const usual = await written("1");
  expect(await written("2")).toBe(usual);
  await elder.within(1, key, (_ledger, { sql }) => {
    sql.exec("DELETE FROM records");
  });
  // The next list is of a part again, and empty.
  expect(await written("3")).toBe(usual);
  expect(await written("4")).toBe(usual + 1);
  expect(await written("5")).toBe(usual);
});
