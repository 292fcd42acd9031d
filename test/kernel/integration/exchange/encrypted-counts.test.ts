// What an encrypted route costs the store, in exact operations: what any other costs, and one commit more where the body is stored as it
// comes.

import { afterAll, describe, expect, it, vi } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";

const MIB = 1 << 20;

afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function begun(): Promise<CountedShard> {
  const shard = new CountedShard({ encrypt_responses: true });
  await shard.begin();
  return shard;
}

describe("on an encrypted route", () => {
  it("a small response costs no statement and no row more", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    expect(await shard.send(key)).toEqual({ status: 201, isReplay: false, bytes: 2 });
    expect(shard.take()).toEqual(COUNTS.first);
    expect(await shard.send(key)).toEqual({ status: 201, isReplay: true, bytes: 2 });
    expect(shard.take()).toEqual(COUNTS.replay);
  });

  it.each([
    ["of 20 kB", 20_000],
    ["of 200 kB", 200_000],
  ])("a response %s costs no statement and no row more", async (_, size) => {
    const shard = await begun();
    const key = crypto.randomUUID();
    shard.origin = () => new Response("x".repeat(size), { status: 201 });
    expect(await shard.send(key)).toMatchObject({ isReplay: false, bytes: size });
    expect(shard.take()).toEqual(COUNTS.firstLarge);
    expect(await shard.send(key)).toMatchObject({ isReplay: true, bytes: size });
    expect(shard.take()).toMatchObject({ rowsWritten: 0, objectCalls: 1, originCalls: 0 });
  });

  it("a response of a mebibyte costs no row more, and one commit", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    shard.origin = () => new Response("x".repeat(MIB), { status: 201 });
    expect(await shard.send(key)).toMatchObject({ isReplay: false, bytes: MIB });
    const { rowsWritten, alarmsSet, syncs } = COUNTS.firstMebibyte;
    expect(shard.take()).toMatchObject({ rowsWritten, alarmsSet, syncs: syncs + 1 });
    expect(await shard.send(key)).toMatchObject({ isReplay: true, bytes: MIB });
    expect(shard.take()).toMatchObject({ rowsWritten: 0 });
  });
});
