import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { type BodyNumber, bodyNumber } from "../../../../src/kernel/record/units.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { heldBytes } from "../../../../src/kernel/body/read-memory.ts";
import { Spool } from "../../../../src/kernel/body/spool.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { eventually } from "../../../support/eventually.ts";

interface Bench {
  readonly spool: Spool;
  readonly ledger: Ledger;
  /** Nothing else is in the store. */
  readonly body: BodyNumber;
  /** Makes everything written durable. */
  readonly commit: () => void;
}

/** A spool in a fresh object, with commits under the test's control. */
async function withSpool(
  run: (bench: Bench) => Promise<void>,
  {
    isOwned = true,
    length = null,
    windowChunks = 16,
    idleMs = 100,
  }: {
    readonly isOwned?: boolean;
    readonly length?: number | null;
    readonly windowChunks?: number;
    readonly idleMs?: number;
  } = {},
): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  await runInDurableObject(stub, async (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    const body = bodyNumber(1);
    let waiting = Promise.withResolvers<void>();
    const commit = (): void => {
      waiting.resolve();
      waiting = Promise.withResolvers();
    };
    const spool = new Spool({
      bodies: ledger.bodies,
      owner: isOwned ? { body, head: "[]" } : null,
      length,
      sync: () => waiting.promise,
      firstFlushMs: 1,
      windowChunks,
      patience: { timers: new ObjectTimers(), idleMs },
      cipher: null,
    });
    await run({ spool, ledger, body, commit });
  });
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  await scheduler.wait(20);
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}

describe("spool", () => {
  it("shows no byte before it is durable, and no end before the end is durable", async () => {
    await withSpool(async ({ spool, commit }) => {
      const reader = spool.reader(null).getReader();
      const first = reader.read();
      await spool.write(text("one"));
      const flushed = spool.flush();
      expect(await isPending(first)).toBe(true);
      commit();
      await flushed;
      expect((await first).value).toEqual(text("one"));
      const second = reader.read();
      // Longer than a reader may be idle: it waits for the origin.
      await scheduler.wait(200);
      await spool.write(text("two"));
      let settled = false;
      const finished = spool.finish(() => (settled = true));
      expect(await isPending(second)).toBe(true);
      expect(settled).toBe(true);
      commit();
      await finished;
      expect((await second).value).toEqual(text("two"));
      expect((await reader.read()).done).toBe(true);
    });
  });

  it("holds back the last bytes of a body of known length until its end is durable", async () => {
    await withSpool(
      async ({ spool, commit }) => {
        const reader = spool.reader(6).getReader();
        const flush = async (piece: string): Promise<void> => {
          await spool.write(text(piece));
          const flushed = spool.flush();
          await scheduler.wait(0);
          commit();
          await flushed;
        };
        await flush("one");
        expect((await reader.read()).value).toEqual(text("one"));
        await flush("two");
        const rest = reader.read();
        expect(await isPending(rest)).toBe(true);
        let settled = false;
        const finished = spool.finish(() => (settled = true));
        expect(await isPending(rest)).toBe(true);
        expect(settled).toBe(true);
        commit();
        await finished;
        expect((await rest).value).toEqual(text("two"));
        expect((await reader.read()).done).toBe(true);
      },
      { length: 6 },
    );
  });

  it("hands over a whole body as long as nothing of it is in the ledger", async () => {
    await withSpool(async ({ spool, ledger, body }) => {
      await spool.write(text("small "));
      await spool.write(text("body"));
      expect(spool.takeWhole()).toEqual(text("small body"));
      expect(ledger.bodies.read(body, 0)).toBeNull();
    });
  });

  it("breaks for a reader that has not read to the end, also when everything is stored", async () => {
    await withSpool(async ({ spool, commit }) => {
      const reader = spool.reader(null).getReader();
      await spool.write(text("half"));
      const flushed = spool.flush();
      await scheduler.wait(0);
      commit();
      await flushed;
      spool.break();
      await expect(reader.read()).rejects.toThrow("broke off");
      await expect(spool.reader(null).getReader().read()).rejects.toThrow("broke off");
    });
  });

  it("drops a reader that stops reading while a body that is not kept continues", async () => {
    await withSpool(async ({ spool, commit, ledger, body }) => {
      const still = spool.reader(null).getReader();
      const durable = setInterval(commit, 1);
      try {
        await spool.write(new Uint8Array(CHUNK_BYTES));
        spool.stopKeeping();
        for (let chunk = 0; chunk < 30; chunk += 1) await spool.write(new Uint8Array(CHUNK_BYTES));
        await spool.finish(() => undefined);
      } finally {
        clearInterval(durable);
      }
      await expect(still.read()).rejects.toThrow();
      // Nothing of it is stored now.
      expect(ledger.bodies.read(body, 0)).toBeNull();
      expect(ledger.bodies.read(body, 20)).toBeNull();
    });
  });

  it("has its first bytes for its first reader, also if it was found too large to keep before that one came", async () => {
    await withSpool(async ({ spool, commit }) => {
      const durable = setInterval(commit, 1);
      try {
        await spool.write(new Uint8Array(CHUNK_BYTES).fill(7));
        await spool.readable();
        spool.stopKeeping();
        const reader = spool.reader(null).getReader();
        expect((await reader.read()).value?.at(0)).toBe(7);
      } finally {
        clearInterval(durable);
        spool.break();
      }
    });
  });

  it("writes nothing at its end that nobody keeps or reads", async () => {
    await withSpool(async ({ spool, commit, ledger }) => {
      const durable = setInterval(commit, 1);
      try {
        await spool.write(text("one"));
        spool.stopKeeping();
        const append = vi.spyOn(ledger.bodies, "append");
        await spool.finish(() => undefined);
        expect(append).not.toHaveBeenCalled();
      } finally {
        clearInterval(durable);
      }
    });
  });

  it.each(["finishes", "breaks"] as const)("holds no memory when it %s after its last reader has left", async (how) => {
    await withSpool(async ({ spool, commit }) => {
      const before = heldBytes();
      const reader = spool.reader(null).getReader();
      await spool.write(text("one"));
      const flushed = spool.flush();
      await scheduler.wait(0);
      commit();
      await flushed;
      await reader.cancel();
      await spool.write(text("two"));
      if (how === "breaks") spool.break();
      else {
        const finished = spool.finish(() => undefined);
        await scheduler.wait(0);
        commit();
        await finished;
      }
      // Bytes on their way to a reader are returned within a turn.
      await scheduler.wait(1);
      expect(heldBytes()).toBe(before);
    });
  });

  it("is at most its window ahead of its slowest reader, if it is not kept", async () => {
    await withSpool(
      async ({ spool, commit }) => {
        const durable = setInterval(commit, 1);
        spool.reader(null);
        spool.stopKeeping();
        let written = 0;
        const writing = (async (): Promise<void> => {
          for (; written < 9; written += 1) await spool.write(new Uint8Array(CHUNK_BYTES));
        })();
        await eventually(() => expect(written).toBe(3));
        expect(await isPending(writing)).toBe(true);
        expect(written).toBe(3);
        clearInterval(durable);
        spool.break();
        await writing;
      },
      { windowChunks: 2, idleMs: 60_000 },
    );
  });

  it("holds no memory when it breaks while a reader has unread bytes", async () => {
    await withSpool(async ({ spool, commit }) => {
      const before = heldBytes();
      const durable = setInterval(commit, 1);
      try {
        spool.reader(null);
        await spool.write(new Uint8Array(3 * CHUNK_BYTES));
      } finally {
        clearInterval(durable);
      }
      spool.break();
      await scheduler.wait(1);
      expect(heldBytes()).toBe(before);
    });
  });

  it("holds nothing after its end when it could not be written", async () => {
    await withSpool(
      async ({ spool, ledger, body }) => {
        await spool.write(text("one"));
        vi.spyOn(ledger.bodies, "append").mockImplementation(() => {
          throw new Error("the disk is full");
        });
        await spool.flush();
        await expect(spool.finish(() => undefined)).rejects.toThrow("full");
        spool.break();
        expect(ledger.bodies.isHeld(body)).toBe(false);
      },
      { isOwned: false },
    );
  });
});
