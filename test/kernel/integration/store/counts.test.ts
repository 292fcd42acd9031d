// Regression test: what each kind of exchange costs, in exact operations. The numbers are in one table,
// test/bench/cost/operation-counts.ts; a change that makes one grow has to update it.

import { describe, expect, it } from "vitest";
import { epochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { COUNTS, ERASED_AT_ONCE, type OperationCounts } from "../../../bench/cost/operation-counts.ts";
import { type Answer, CountedShard } from "../../../support/integration/counted-shard.ts";
import { completed, freshId, HOUR_MS, response, started } from "../../../support/integration/records.ts";
import { heldAnswer } from "../../../support/integration/shard-bench.ts";
import { eventually } from "../../../support/eventually.ts";

const MIB = 1 << 20;

async function begun(): Promise<CountedShard> {
  const shard = new CountedShard();
  await shard.begin();
  return shard;
}

function store(shard: CountedShard, records: readonly (readonly [RecordId, IdempotencyRecord])[]): Promise<void> {
  return shard.within(async (ledger, storage) => {
    for (const [id, record] of records) ledger.save(id, null, record, { response });
    await storage.setAlarm(Date.now() + HOUR_MS);
  });
}

/** One request, and what it cost. */
async function cost(shard: CountedShard, key: string, body?: string): Promise<readonly [Answer, OperationCounts]> {
  shard.take();
  const answer = await shard.send(key, body);
  return [answer, shard.take()];
}

function chunksIn(shard: CountedShard): Promise<readonly unknown[]> {
  return shard.within((_ledger, { sql }) =>
    sql.exec("SELECT number FROM chunks UNION ALL SELECT body FROM discarded").toArray(),
  );
}

async function erased(shard: CountedShard): Promise<OperationCounts> {
  shard.take();
  expect(await shard.alarm()).toBe(true);
  return shard.take();
}

describe("the operations of", () => {
  it("a first request, and of its replay", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    expect(await cost(shard, key)).toEqual([{ status: 201, isReplay: false, bytes: 2 }, COUNTS.first]);
    expect(await cost(shard, key)).toEqual([{ status: 201, isReplay: true, bytes: 2 }, COUNTS.replay]);
  });

  it("the tables of a new object", async () => {
    const shard = new CountedShard();
    await shard.makeTables();
    expect(shard.take()).toEqual(COUNTS.tables);
  });

  it("the first request of a new instance", async () => {
    const shard = await begun();
    await shard.restart();
    const [{ status }, counts] = await cost(shard, crypto.randomUUID());
    expect(status).toBe(201);
    expect(counts).toEqual(COUNTS.firstOfInstance);
  });

  it("a first request and a replay among the live records of a whole retention", async () => {
    const shard = await begun();
    // Each in a separate expiry bucket, and none in the present one, at any time of day.
    const width = 3 * HOUR_MS;
    const boundary = Math.floor(Date.now() / width) * width;
    await store(
      shard,
      Array.from({ length: 8 }, (_, eighth) => {
        const at = epochMs(boundary - eighth * width - 1);
        return [freshId(), completed(started(at), at)] as const;
      }),
    );
    await shard.restart();
    await shard.send(crypto.randomUUID());
    const key = crypto.randomUUID();
    expect((await cost(shard, key))[1]).toEqual(COUNTS.firstAmongBuckets);
    expect((await cost(shard, key))[1]).toEqual(COUNTS.replayAmongBuckets);
  });

  it("a duplicate while the first runs", async () => {
    const shard = await begun();
    const held = heldAnswer(() => new Response("{}", { status: 201 }));
    const seen = { calls: 0 };
    shard.origin = () => held.origin(new Request("http://origin.example"), ++seen.calls);
    const key = crypto.randomUUID();
    const first = shard.send(key);
    // Polled: what resolves in the object does not wake the test.
    while (seen.calls === 0) await scheduler.wait(1);
    const [{ status }, counts] = await cost(shard, key);
    expect(status).toBe(409);
    expect(counts).toEqual(COUNTS.conflict);
    held.release();
    expect((await first).status).toBe(201);
  });

  it("a different request with the same key", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    await shard.send(key);
    const [{ status }, counts] = await cost(shard, key, "another");
    expect(status).toBe(422);
    expect(counts).toEqual(COUNTS.mismatch);
  });

  it("an attempt that was refused, and the next one", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    shard.origin = () => new Response("not now", { status: 503 });
    expect((await cost(shard, key))[1]).toEqual(COUNTS.refused);
    shard.origin = () => new Response("{}", { status: 201 });
    expect((await cost(shard, key))[1]).toEqual(COUNTS.afterRefusal);
  });

  it("a request that no route protects", async () => {
    const shard = await begun();
    await shard.send(crypto.randomUUID(), "{}", "/open");
    expect(shard.take()).toEqual(COUNTS.unprotected);
  });

  it("a response of 200 kB that comes whole, its replay and its erasure", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    const bytes = 200_000;
    shard.origin = () => new Response(new Uint8Array(bytes));
    expect(await cost(shard, key)).toEqual([{ status: 200, isReplay: false, bytes }, COUNTS.firstLarge]);
    expect(await cost(shard, key)).toEqual([{ status: 200, isReplay: true, bytes }, COUNTS.replayLarge]);
    await shard.within((_ledger, { sql }) => {
      // Simulates that a day has passed.
      sql.exec("UPDATE records SET number = (1 << 31) | (number & 2147483647), expires_at = 1 WHERE chunks > 0");
    });
    expect((await erased(shard)).rowsWritten).toBe(COUNTS.erasedLarge.rowsWritten);
    expect(await chunksIn(shard)).toEqual([]);
  });

  it("a response of 1 MiB, its replay and its erasure", async () => {
    const shard = await begun();
    const key = crypto.randomUUID();
    shard.origin = () => new Response(new Uint8Array(MIB));
    expect(await cost(shard, key)).toEqual([{ status: 200, isReplay: false, bytes: MIB }, COUNTS.firstMebibyte]);
    expect(await cost(shard, key)).toEqual([{ status: 200, isReplay: true, bytes: MIB }, COUNTS.replayMebibyte]);
    await shard.within((_ledger, { sql }) => {
      // Simulates that a day has passed.
      sql.exec("UPDATE records SET number = (1 << 31) | (number & 2147483647), expires_at = 1 WHERE chunks > 0");
    });
    shard.take();
    await shard.alarm();
    // The rest is due at once, so the platform calls the alarm again.
    await eventually(async () => expect(await chunksIn(shard)).toEqual([]));
    expect(shard.take().rowsWritten).toBe(COUNTS.erasedMebibyte.rowsWritten);
  });

  it(`${ERASED_AT_ONCE} expired records, erased by one alarm`, async () => {
    const shard = await begun();
    const old = completed(started(epochMs(1)), epochMs(1));
    await store(
      shard,
      Array.from({ length: ERASED_AT_ONCE }, () => [freshId(), old] as const),
    );
    expect(await erased(shard)).toEqual(COUNTS.erased);
    expect(
      await shard.within((_ledger, { sql }) => sql.exec("SELECT id FROM records WHERE started_at = 0").toArray()),
    ).toEqual([]);
  });
});

it("a key with a large body costs five rows written over its whole life", () => {
  expect(COUNTS.firstLarge.rowsWritten + COUNTS.erasedLarge.rowsWritten).toBeLessThanOrEqual(5);
  expect(COUNTS.replayLarge.rowsWritten).toBe(0);
});

it("a key costs three rows written over its whole life, and a replay none", () => {
  expect(COUNTS.first.rowsWritten + COUNTS.erased.rowsWritten / ERASED_AT_ONCE).toBeLessThanOrEqual(3);
  expect(COUNTS.replay.rowsWritten + COUNTS.replay.alarmsSet).toBe(0);
});
