// Readers of stored bodies: how much memory they hold, how long they may stall, and that a replay which has begun outlives its
// record, wherever its body is stored.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { RecordId } from "../../../../src/kernel/record/units.ts";
import { START } from "../../../../src/kernel/resume/event-offsets.ts";
import { readStoredBody } from "../../../../src/kernel/object/answers.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { heldBytes } from "../../../../src/kernel/body/read-memory.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { completed, freshId, nextDeadline, NOW, response, started } from "../../../support/integration/records.ts";

const FOR_EVER_MS = 600_000;
const SIZE = 250_000;
const BYTES = new Uint8Array(SIZE).map((_byte, index) => (index * 31 + (index >> 8)) % 251);

type Kind = "in one chunk" | "in chunks";

interface Bench {
  readonly ledger: Ledger;
  /** A completed record that keeps `BYTES`. */
  readonly store: (kind: Kind) => RecordId;
  /** A replay of it. */
  readonly open: (id: RecordId, idleMs?: number) => Promise<ReadableStreamDefaultReader<Uint8Array>>;
  /** The number of chunks of this record's body, also when the record is gone. */
  readonly chunksOf: (id: RecordId) => number;
}

function withLedger(run: (bench: Bench) => Promise<void>): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, async (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    const timers = new ObjectTimers();
    const bodies = new Map<RecordId, number>();
    const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
    try {
      await run({
        ledger,
        store(kind) {
          const id = freshId();
          const claim = started();
          ledger.save(id, null, claim);
          const own = ledger.claimedBody(id);
          if (kind === "in chunks") {
            ledger.bodies.append(own, 0, BYTES.slice(0, 100_000), "[]");
            ledger.bodies.append(own, 1, BYTES.slice(100_000));
          }
          const body =
            kind === "in one chunk"
              ? ({ kind: "inline", bytes: BYTES } as const)
              : ({ kind: "chunks", body: own, count: 2, size: SIZE } as const);
          ledger.save(id, ledger.find(id), completed(claim), { response: { ...response, body } });
          bodies.set(id, ledger.find(id)?.body ?? 0);
          return id;
        },
        async open(id, idleMs = FOR_EVER_MS) {
          const found = ledger.find(id)?.response?.body;
          const stream =
            found === undefined
              ? null
              : await readStoredBody(found, { stores: ledger, cipher: null }, START, { timers, idleMs });
          if (!(stream instanceof ReadableStream)) throw new TypeError("no stream");
          const reader = stream.getReader();
          readers.push(reader);
          return reader;
        },
        chunksOf: (id) =>
          storage.sql
            .exec<{ n: number }>("SELECT count(*) AS n FROM chunks WHERE number >> 26 = ?", bodies.get(id) ?? 0)
            .one().n,
      });
    } finally {
      for (const reader of readers) await reader.cancel().catch(() => undefined);
    }
    await vi.waitUntil(() => heldBytes() === 0, { timeout: 10_000 });
  });
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  const bytes = new Uint8Array(SIZE);
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return bytes.subarray(0, at);
    bytes.set(value, at);
    at += value.byteLength;
  }
}

const KINDS: readonly Kind[] = ["in one chunk", "in chunks"];

describe.each(KINDS)("a body %s", (kind) => {
  it("is read back byte for byte, also in small pieces beside many stalled readers", async () => {
    await withLedger(async ({ store, open }) => {
      const id = store(kind);
      expect(await readAll(await open(id))).toEqual(BYTES);
      for (let reader = 0; reader < 200; reader += 1) await open(id);
      expect(await readAll(await open(id))).toEqual(BYTES);
    });
  });

  it("takes less than 40 MiB for 1,000 stalled readers, of one record or of many", async () => {
    await withLedger(async ({ store, open }) => {
      const one = store(kind);
      for (let reader = 0; reader < 500; reader += 1) {
        await open(one);
        await open(store(kind));
      }
      expect(heldBytes()).toBeGreaterThan(8 << 20);
      expect(heldBytes()).toBeLessThan(40 << 20);
    });
  });

  it.each<[string, (ledger: Ledger, id: RecordId) => void]>([
    ["expires", (ledger) => void ledger.expired.erase(nextDeadline(ledger) ?? NOW, 10)],
    ["is erased", (ledger, id) => ledger.save(id, ledger.find(id), null)],
    ["makes room for another attempt", (ledger, id) => ledger.save(id, ledger.find(id), started())],
  ])("outlives its record for a replay that has begun when the record %s", async (_what, end) => {
    await withLedger(async ({ ledger, store, open, chunksOf }) => {
      const id = store(kind);
      // Many readers hold so much memory that this one gets its body in several pieces.
      const others = store(kind);
      for (let reader = 0; reader < 200; reader += 1) await open(others);
      const reader = await open(id);
      const { value } = await reader.read();
      expect(value?.byteLength).toBeLessThan(SIZE / 2);
      end(ledger, id);
      ledger.bodies.eraseSome();
      const rest = await readAll(reader);
      const begun = value ?? new Uint8Array();
      expect(rest).toEqual(BYTES.subarray(begun.byteLength));
      await vi.waitUntil(() => ledger.bodies.hasErasable(), { timeout: 10_000 });
      while (ledger.bodies.hasErasable()) ledger.bodies.eraseSome();
      expect(chunksOf(id)).toBe(0);
    });
  });

  it("is withdrawn from a reader that reads nothing for too long, and freed in memory and on disk", async () => {
    await withLedger(async ({ ledger, store, open, chunksOf }) => {
      const id = store(kind);
      const still = await open(id, 50);
      ledger.expired.erase(nextDeadline(ledger) ?? NOW, 10);
      expect(ledger.bodies.hasErasable()).toBe(false);
      await vi.waitUntil(() => ledger.bodies.hasErasable(), { timeout: 10_000 });
      expect(heldBytes()).toBe(0);
      while (ledger.bodies.hasErasable()) ledger.bodies.eraseSome();
      expect(chunksOf(id)).toBe(0);
      await expect(readAll(still)).rejects.toThrow();
    });
  });

  it("is not withdrawn from a slow reader", async () => {
    await withLedger(async ({ store, open }) => {
      const reader = await open(store(kind), 1500);
      const bytes: number[] = [];
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        bytes.push(value.byteLength);
        await scheduler.wait(40);
      }
      // Longer in all than one pause may last.
      expect(bytes.length * 40).toBeGreaterThan(1500);
      expect(bytes.reduce((sum, count) => sum + count, 0)).toBe(SIZE);
    });
  });
});
