// Many bodies at once on their way into a slow bucket: they wait on the disk, and each holds one piece in memory.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { OverflowBucket } from "../../../../src/kernel/overflow/overflow.ts";
import { heldBytes } from "../../../../src/kernel/body/read-memory.ts";
import { PART_BYTES } from "../../../../src/kernel/overflow/remote-bodies.ts";
import { Spool } from "../../../../src/kernel/body/spool.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { FailingBucket } from "../../../support/integration/failing-bucket.ts";

const BODIES = 16;
const PIECE = new Uint8Array(1 << 20).fill(7);
const PIECES = PART_BYTES / PIECE.byteLength + 1;

/** A bucket that accepts no part until the test allows it. */
class SlowBucket extends FailingBucket {
  readonly #gate = { isOpen: false };
  /** How many parts are waiting. */
  waiting = 0;

  constructor() {
    super(null);
  }

  open(): void {
    this.#gate.isOpen = true;
  }

  override async createMultipartUpload(key: string) {
    const upload = await super.createMultipartUpload(key);
    const uploadPart = async (number: number, part: ReadableStream<Uint8Array>) => {
      this.waiting += 1;
      while (!this.#gate.isOpen) await scheduler.wait(1);
      return upload.uploadPart(number, part);
    };
    return { ...upload, uploadPart };
  }
}

function isBucket(bucket: object): bucket is R2Bucket {
  return "createMultipartUpload" in bucket;
}

it(`${BODIES} bodies that outgrow the ledger at once hold less than 24 MiB, where each held 8`, async () => {
  await runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (_instance, { storage }) => {
    const bucket: object = new SlowBucket();
    if (!isBucket(bucket) || !(bucket instanceof SlowBucket)) throw new TypeError("no bucket");
    const { bodies, remote } = new Ledger(storage, bucket);
    const lost = vi.fn<() => void>();
    const patience = { timers: new ObjectTimers(), idleMs: 60_000 };
    const sync = (): Promise<void> => Promise.resolve();
    const all = await Promise.all(
      Array.from({ length: BODIES }, async () => {
        const name = crypto.randomUUID();
        const spool = new Spool({
          bodies,
          owner: { body: bodies.allot(), head: "[]" },
          length: null,
          sync,
          firstFlushMs: 1,
          windowChunks: 1024,
          patience,
          cipher: null,
        });
        const overflow = new OverflowBucket({
          name,
          names: { keyHash: "" },
          remote,
          spool,
          cipher: null,
          patience,
          lost,
        });
        await spool.write(PIECE);
        await spool.flush();
        await overflow.begin();
        spool.stopKeeping();
        for (let piece = 1; piece < PIECES; piece += 1) await spool.write(PIECE);
        return { spool, overflow };
      }),
    );
    await vi.waitUntil(() => bucket.waiting === BODIES, { timeout: 10_000 });
    expect(heldBytes()).toBeLessThan(24 << 20);
    bucket.open();
    for (const { spool, overflow } of all) {
      await overflow.complete();
      await spool.finish(() => undefined);
    }
    expect(lost).not.toHaveBeenCalled();
    expect(bucket.completed).toHaveLength(BODIES);
    expect(bucket.parts).toBe(2 * BODIES);
    expect(heldBytes()).toBe(0);
    expect(storage.sql.exec("SELECT count(*) AS n FROM chunks").one()).toEqual({ n: 0 });
  });
});
