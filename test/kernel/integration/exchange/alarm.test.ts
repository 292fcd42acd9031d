import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { epochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import { ObjectAlarm } from "../../../../src/kernel/object/alarm.ts";
import { operatorCalls } from "../../../support/integration/operated-bench.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { completed, freshId, nextDeadline, policy, response, started } from "../../../support/integration/records.ts";
import { expectThrown } from "../../../support/integration/expected-errors.ts";
import { eventually } from "../../../support/eventually.ts";

function freshShard(): DurableObjectStub {
  return env.KEY_SHARD.get(env.KEY_SHARD.idFromName(crypto.randomUUID()));
}

/** Stores records as another instance would have left them, and an alarm that is due. */
async function leaveBehind(
  stub: DurableObjectStub,
  records: readonly (readonly [RecordId, IdempotencyRecord])[],
): Promise<void> {
  await runInDurableObject(stub, async (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    for (const [id, record] of records) ledger.save(id, null, record, record.state === "completed" ? { response } : {});
    await storage.setAlarm(Date.now() + 3_600_000);
  });
  // A running instance keeps the list of its expiry buckets; a crash loses it.
  await evictDurableObject(stub);
}

function stored(stub: DurableObjectStub, id: RecordId): Promise<IdempotencyRecord | null> {
  return runInDurableObject(stub, (_instance, { storage }) => new Ledger(storage).find(id)?.record ?? null);
}

describe("the alarm of a shard", () => {
  it("ends the locks of lost attempts, each by its own policy, and no others", async () => {
    const stub = freshShard();
    const now = Date.now();
    const [held, retried, running] = [freshId(), freshId(), freshId()];
    const lost = started(epochMs(now - 50_000));
    await leaveBehind(stub, [
      [held, lost],
      [retried, { ...lost, policy: { ...policy, unknown: "retry" } }],
      [running, started(epochMs(now))],
    ]);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stored(stub, held)).toMatchObject({
      state: "unknown",
      expiresAt: lost.attempt.lockedUntil + policy.unknownRetentionMs,
    });
    expect(await stored(stub, retried)).toMatchObject({ state: "failed", retryFrom: lost.attempt.lockedUntil });
    expect(await stored(stub, running)).toMatchObject({ state: "started" });
    // The alarm is set to the end of the remaining lock.
    expect(await runInDurableObject(stub, (_instance, { storage }) => storage.getAlarm())).toBe(now + 40_000);
  });

  it("erases what has expired, whatever the amount, and then is not set", async () => {
    const stub = freshShard();
    const old = completed(started(epochMs(1)), epochMs(1));
    await leaveBehind(
      stub,
      Array.from({ length: 1200 }, () => [freshId(), old] as const),
    );
    const state = (): Promise<{ records: number; alarm: number | null }> =>
      runInDurableObject(stub, async (_instance, { storage }) => ({
        records: storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM records").one().n,
        alarm: await storage.getAlarm(),
      }));
    expect(await state()).toMatchObject({ records: 1200 });
    await runDurableObjectAlarm(stub);
    // The rest is due at once, so the platform calls the alarm again.
    await eventually(async () => expect(await state()).toEqual({ records: 0, alarm: null }));
  });

  it("comes at once for what is due, also when the instance has just started", async () => {
    const stub = freshShard();
    await runInDurableObject(stub, async (_instance, { storage }) => {
      const { bodies } = new Ledger(storage);
      const body = bodies.allot();
      bodies.append(body, 0, new Uint8Array([1]));
      bodies.discard(body);
      await storage.deleteAlarm();
      // The claim of an instance that does not yet know when its alarm is due.
      new ObjectAlarm(storage, () => nextDeadline(new Ledger(storage))).moveTo(epochMs(Date.now() + 3_600_000));
    });
    // The runtime itself runs it: one that is set for the beginning of time never comes (measured).
    await vi.waitUntil(
      () =>
        runInDurableObject(
          stub,
          (_instance, { storage }) => storage.sql.exec("SELECT 1 FROM chunks").toArray().length === 0,
        ),
      { timeout: 10_000 },
    );
    expect(await runInDurableObject(stub, (_instance, { storage }) => storage.getAlarm())).toBeNull();
  });

  it("moves only for an earlier deadline, and costs no row otherwise", async () => {
    await runInDurableObject(freshShard(), async (_instance, { storage }) => {
      const alarm = new ObjectAlarm(storage, () => null);
      alarm.moveTo(epochMs(Date.now() + 90_000));
      const first = await storage.getAlarm();
      alarm.moveTo(epochMs(Date.now() + 95_000));
      expect(await storage.getAlarm()).toBe(first);
      alarm.moveTo(epochMs(Date.now() + 30_000));
      expect(await storage.getAlarm()).toBeLessThan(first ?? 0);
    });
  });

  it("is set again by the first claim of an instance, also when the platform has dropped it", async () => {
    await runInDurableObject(freshShard(), async (_instance, { storage }) => {
      const earliest = epochMs(Date.now() + 20_000);
      new ObjectAlarm(storage, () => earliest).moveTo(epochMs(Date.now() + 90_000));
      expect(await storage.getAlarm()).toBe(earliest);
    });
  });
});

describe("operator calls", () => {
  it("inspect one record by its id, through itty-durable", async () => {
    const name = crypto.randomUUID();
    const id = freshId();
    const record = started();
    await leaveBehind(env.KEY_SHARD.get(env.KEY_SHARD.idFromName(name)), [[id, record]]);
    const shard = operatorCalls(env.KEY_SHARD.get(env.KEY_SHARD.idFromName(name)));
    expect(await shard.inspect(id)).toMatchObject({ id, record });
  });

  it("are not reached by a request that imitates one", async () => {
    const stub = freshShard();
    for (const url of [
      "https://itty-durable.example/do/call/ask",
      "https://itty-durable/do/call/destroy",
      "https://key-shard/do/call/ask",
      "https://key-shard/1/exchange/../../do/call/ask",
    ]) {
      await expectThrown(stub.fetch(url, { headers: { "do-content": "[]" } }), "answers no such call");
    }
  });
});
