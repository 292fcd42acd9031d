// A body whose bytes cannot be made durable.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { Spool } from "../../../../src/kernel/body/spool.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";

/** More turns would be a busy loop that blocks all other work. */
const MOST_FLUSHES = 10;

async function withFailingSync(run: (spool: Spool) => Promise<void>): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  await runInDurableObject(stub, async (_instance, { storage }) => {
    const sync = (): Promise<void> => Promise.reject(new Error("not durable"));
    const { bodies } = new Ledger(storage);
    const patience = { timers: new ObjectTimers(), idleMs: 100 };
    const limits = { firstFlushMs: 1, windowChunks: 16, patience, cipher: null };
    const spool = new Spool({ bodies, owner: { body: bodies.allot(), head: "[]" }, length: null, sync, ...limits });
    const flush = spool.flush.bind(spool);
    let flushes = 0;
    vi.spyOn(spool, "flush").mockImplementation(() => {
      flushes += 1;
      if (flushes > MOST_FLUSHES) throw new Error("it goes round");
      return flush();
    });
    await run(spool);
  });
}

describe("a spool whose commits fail", () => {
  it.each([1, 2, 3, 5])("fails a write of %i chunks at once, whatever its size", async (chunks) => {
    await withFailingSync(async (spool) => {
      await expect(spool.write(new Uint8Array(chunks * CHUNK_BYTES))).rejects.toThrow("not durable");
    });
  });

  it("never passes a part off as the whole body, and never finishes", async () => {
    await withFailingSync(async (spool) => {
      await spool.write(new Uint8Array(10));
      await spool.flush();
      expect(() => spool.takeWhole()).toThrow("not durable");
      let isSettled = false;
      await expect(spool.finish(() => (isSettled = true))).rejects.toThrow("not durable");
      expect(isSettled).toBe(false);
    });
  });
});
