import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Completed, type IdempotencyRecord, type Started } from "../../../../src/kernel/record/record.ts";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { PART_BYTES } from "../../../../src/kernel/overflow/remote-bodies.ts";
import { completed, freshId, nextDeadline, NOW, response, started } from "../../../support/integration/records.ts";

const BODY = new Uint8Array(20 << 20).map((_byte, index) => (index * 31 + (index >> 10)) % 251);

/** A ledger in a fresh object, with the real bucket. */
async function inLedger(
  run: (ledger: Ledger, again: () => Ledger) => Promise<void>,
  bucket: R2Bucket = env.BODIES,
): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  await runInDurableObject(stub, (_instance, { storage }) => {
    const open = (): Ledger => new Ledger(storage, bucket);
    return run(open(), open);
  });
}

async function store(ledger: Ledger, name: string): Promise<void> {
  const upload = await ledger.remote.begin(name);
  for (let at = 0; at < BODY.byteLength; at += PART_BYTES)
    await upload?.send(partOf(BODY.subarray(at, at + PART_BYTES)));
  await upload?.complete();
}

function partOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(bytes.byteLength);
  const writer = writable.getWriter();
  void writer.write(bytes).then(() => writer.close());
  return readable;
}

/** The real bucket with some methods replaced. */
function bucketWith(instead: Partial<R2Bucket>): R2Bucket {
  const real = env.BODIES;
  return {
    head: (key) => real.head(key),
    get: real.get.bind(real),
    put: real.put.bind(real),
    createMultipartUpload: (key) => real.createMultipartUpload(key),
    resumeMultipartUpload: (key, id) => real.resumeMultipartUpload(key, id),
    delete: (key) => real.delete(key),
    list: (options) => real.list(options),
    ...instead,
  };
}

async function isStored(name: string): Promise<boolean> {
  return (await env.BODIES.head(`bodies/${name}`)) !== null;
}

describe("bodies in the bucket", () => {
  it("are read back unchanged, from any byte on", async () => {
    await inLedger(async (ledger) => {
      const name = crypto.randomUUID();
      await store(ledger, name);
      for (const skip of [0, 1, 9_000_000]) {
        const stream = await ledger.remote.open(name, skip);
        const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
        expect(bytes.byteLength).toBe(BODY.byteLength - skip);
        expect(bytes.every((byte, index) => byte === BODY[index + skip])).toBe(true);
      }
    });
  });

  it("are found through their record, and erased with it", async () => {
    await inLedger(async (ledger) => {
      const id = freshId();
      const claim = started();
      const record: Completed = completed(claim);
      const name = claim.attempt.id;
      ledger.save(id, null, claim);
      await store(ledger, name);
      ledger.save(id, ledger.find(id), record, {
        response: { ...response, body: { kind: "remote", name, size: BODY.byteLength } },
      });
      expect(ledger.find(id)?.response?.body).toMatchObject({ kind: "remote", name });
      await ledger.remote.eraseOne();
      expect(await isStored(name)).toBe(true);
      ledger.expired.erase(nextDeadline(ledger) ?? NOW, 10);
      await ledger.remote.eraseOne();
      expect(await isStored(name)).toBe(false);
      expect(nextDeadline(ledger)).toBeNull();
    });
  });

  it.each<[string, (claim: Started) => IdempotencyRecord | null]>([
    [
      "its attempt was lost",
      (claim) => ({ ...claim, state: "unknown", expiresAt: epochMs(NOW + 7), verifyAt: null, verifications: 0 }),
    ],
    ["nothing is left of its record", () => null],
  ])("leave nothing behind after a crash, when %s", async (_what, next) => {
    for (const complete of [false, true]) {
      await inLedger(async (ledger, again) => {
        const id = freshId();
        const claim = started();
        ledger.save(id, null, claim);
        const upload = await ledger.remote.begin(claim.attempt.id);
        await upload?.send(partOf(BODY.subarray(0, PART_BYTES)));
        if (complete) await upload?.complete();
        const restarted = again();
        restarted.save(id, restarted.find(id), next(claim));
        await restarted.remote.eraseOne();
        expect(await isStored(claim.attempt.id)).toBe(false);
        expect(restarted.remote.eraseAt()).toBeNull();
        // The incomplete upload can no longer be completed.
        if (!complete) await expect(upload?.complete()).rejects.toThrow();
      });
    }
  });

  it("are aborted again until that succeeds, when the bucket fails", async () => {
    let failures = 1;
    const bucket = bucketWith({
      resumeMultipartUpload: (key, id) => {
        const upload = env.BODIES.resumeMultipartUpload(key, id);
        const abort = (): Promise<void> => (failures-- > 0 ? Promise.reject(new Error("not now")) : upload.abort());
        const uploadPart: R2MultipartUpload["uploadPart"] = (number, part) => upload.uploadPart(number, part);
        return { key, uploadId: id, abort, uploadPart, complete: (parts) => upload.complete(parts) };
      },
    });
    await inLedger(async (ledger, again) => {
      const name = crypto.randomUUID();
      const upload = await ledger.remote.begin(name);
      ledger.remote.discard(name);
      await ledger.remote.eraseOne();
      expect(ledger.remote.eraseAt()).not.toBeNull();
      // Another instance, which does not pause.
      const restarted = again();
      await restarted.remote.eraseOne();
      expect(restarted.remote.eraseAt()).toBeNull();
      await expect(upload?.complete()).rejects.toThrow();
    }, bucket);
  });

  it("are aborted when their upload begins only after it was given up, whether or not their row is gone", async () => {
    for (const erased of [true, false]) {
      const held = Promise.withResolvers<void>();
      const bucket = bucketWith({
        createMultipartUpload: async (key) => {
          await held.promise;
          return env.BODIES.createMultipartUpload(key);
        },
      });
      await inLedger(async (ledger) => {
        const name = crypto.randomUUID();
        const begun = ledger.remote.begin(name);
        ledger.remote.discard(name);
        if (erased) await ledger.remote.eraseOne();
        expect(ledger.remote.eraseAt() === null).toBe(erased);
        held.resolve();
        const upload = await begun;
        await ledger.remote.eraseOne();
        expect(ledger.remote.eraseAt()).toBeNull();
        await expect(upload?.complete()).rejects.toThrow();
      }, bucket);
    }
  });

  it("are not uploaded without a bound bucket", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    await runInDurableObject(stub, async (_instance, { storage }) => {
      expect(await new Ledger(storage).remote.begin("x")).toBeNull();
    });
  });
});
