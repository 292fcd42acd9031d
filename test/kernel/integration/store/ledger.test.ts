import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { IdempotencyRecord, Started } from "../../../../src/kernel/record/record.ts";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { CHUNK_BYTES, ERASE_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { expiryBucketOf } from "../../../../src/kernel/store/expiry-buckets.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import type { LedgerSql } from "../../../../src/kernel/store/schema.ts";
import { countRows } from "../../../support/integration/counted-sql.ts";
import {
  completed,
  freshId,
  HOUR_MS,
  nextDeadline,
  NOW,
  policy,
  response,
  started,
} from "../../../support/integration/records.ts";

/** Runs in a fresh object, so that its counts start at zero. */
function inLedger<T>(run: (ledger: Ledger, sql: SqlStorage, storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, state) =>
    run(new Ledger(state.storage), state.storage.sql, state.storage),
  );
}

const HEAD = JSON.stringify(response.headers);

function chunksIn(sql: SqlStorage): number {
  return sql.exec<{ n: number }>("SELECT count(*) AS n FROM chunks").one().n;
}

describe("ledger", () => {
  it("reads back every kind of record as it was saved", async () => {
    await inLedger((ledger) => {
      const claim = started();
      const others: readonly IdempotencyRecord[] = [
        claim,
        completed(claim),
        { ...completed(claim), kept: false },
        { ...claim, state: "failed", retryFrom: epochMs(NOW + 5), expiresAt: epochMs(NOW + 6) },
        { ...claim, state: "unknown", expiresAt: epochMs(NOW + 7), verifyAt: null, verifications: 0 },
        {
          ...claim,
          state: "unknown",
          expiresAt: epochMs(NOW + 7),
          verifyAt: epochMs(NOW + 3),
          verifications: 2,
          policy: { ...policy, unknown: "verify" },
        },
      ];
      for (const record of others) {
        const id = freshId();
        ledger.save(id, null, record);
        expect(ledger.find(id)?.record).toEqual(record);
      }
    });
  });

  it("reads back a response byte for byte, with its headers in order and repeated", async () => {
    await inLedger((ledger) => {
      const id = freshId();
      const record = completed(started());
      ledger.save(id, null, record, { response });
      expect(ledger.find(id)?.response).toEqual(response);
    });
  });

  it("finds the chunks of a body outside its record's row, and erases them with the record", async () => {
    await inLedger((ledger, sql) => {
      const id = freshId();
      const claim = started();
      const record = completed(claim);
      ledger.save(id, null, claim);
      const own = ledger.claimedBody(id);
      ledger.bodies.append(own, 0, new Uint8Array(CHUNK_BYTES).fill(1), HEAD);
      ledger.bodies.append(own, 1, new Uint8Array([7]));
      const body = { kind: "chunks", body: own, count: 2, size: CHUNK_BYTES + 1 } as const;
      ledger.save(id, ledger.find(id), record, { response: { ...response, body } });
      expect(ledger.find(id)?.response).toEqual({ ...response, body });
      expect(ledger.bodies.read(own, 1)).toEqual(new Uint8Array([7]));
      expect(ledger.bodies.hasErasable()).toBe(false);
      ledger.expired.erase(nextDeadline(ledger) ?? NOW, 10);
      expect(nextDeadline(ledger)).toBeNull();
      expect(chunksIn(sql)).toBe(0);
    });
  });

  it("keeps the body of a record whose change fails", async () => {
    await inLedger((ledger, sql) => {
      const id = freshId();
      const claim = started();
      ledger.save(id, null, claim);
      const own = ledger.claimedBody(id);
      ledger.bodies.append(own, 0, new Uint8Array(10), HEAD);
      const body = { kind: "chunks", body: own, count: 1, size: 10 } as const;
      ledger.save(id, ledger.find(id), completed(claim), { response: { ...response, body } });
      sql.exec("CREATE TRIGGER fails BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'the disk fails'); END");
      expect(() => ledger.save(id, ledger.find(id), null)).toThrow("the disk fails");
      expect(sql.exec("SELECT body FROM discarded").toArray()).toEqual([]);
      ledger.bodies.eraseSome();
      expect(ledger.bodies.read(own, 0)?.byteLength).toBe(10);
    });
  });

  it.each<[string, (claim: Started) => IdempotencyRecord | null]>([
    [
      "an attempt whose outcome is unknown",
      (claim) => ({ ...claim, state: "unknown", expiresAt: epochMs(NOW + 7), verifyAt: null, verifications: 0 }),
    ],
    ["a result that is not kept", (claim) => ({ ...completed(claim), kept: false })],
    ["the next attempt", () => started()],
    ["nothing", () => null],
  ])("discards what an attempt has stored of a body when %s takes its place", async (_what, next) => {
    await inLedger((ledger, sql) => {
      const id = freshId();
      const claim = started();
      ledger.save(id, null, claim);
      ledger.bodies.append(ledger.claimedBody(id), 0, new Uint8Array(10));
      ledger.save(id, ledger.find(id), { ...claim, attempt: { ...claim.attempt, lockedUntil: epochMs(NOW + 99_000) } });
      expect(ledger.bodies.hasErasable()).toBe(false);
      ledger.save(id, ledger.find(id), next(claim));
      ledger.bodies.eraseSome();
      expect(chunksIn(sql)).toBe(0);
    });
  });

  it("discards a response whose expired record is claimed again by the same attempt", async () => {
    await inLedger((ledger, sql) => {
      const id = freshId();
      const claim = started();
      ledger.save(id, null, claim);
      const bytes = new Uint8Array(CHUNK_BYTES);
      const large = { ...response, body: { kind: "inline", bytes } } as const;
      ledger.save(id, ledger.find(id), completed(claim), { response: large });
      expect(chunksIn(sql)).toBe(1);
      // The request is delivered again after its record has expired.
      ledger.save(id, ledger.find(id), claim);
      ledger.save(id, ledger.find(id), completed(claim), { response });
      ledger.bodies.eraseSome();
      expect(chunksIn(sql)).toBe(0);
    });
  });

  it("erases no body in use, and reports as soon as it is free", async () => {
    await inLedger((_ledger, sql, storage) => {
      let calls = 0;
      const { bodies } = new Ledger(storage, null, (afterMs) => (calls += Number(afterMs === 0)));
      const body = bodies.lend();
      for (let number = 0; number < 40; number += 1) bodies.append(body, number, new Uint8Array(10));
      bodies.hold(body);
      bodies.eraseSome();
      expect(chunksIn(sql)).toBe(40);
      bodies.release(body);
      expect(calls).toBe(0);
      bodies.release(body);
      expect(calls).toBe(1);
      bodies.eraseSome();
      expect(chunksIn(sql)).toBe(0);
      expect(bodies.hasErasable()).toBe(false);
    });
  });

  it("erases what an upload has left behind after a crash", async () => {
    await inLedger((ledger, sql, storage) => {
      ledger.bodies.append(ledger.bodies.lend(), 0, new Uint8Array(10));
      const next = new Ledger(storage);
      expect(nextDeadline(next)).toBe(0);
      next.bodies.eraseSome();
      expect(chunksIn(sql)).toBe(0);
    });
  });

  it("erases the question to the origin, with its credential, as soon as there is nothing to ask", async () => {
    await inLedger((ledger, sql) => {
      const id = freshId();
      const claim: Started = { ...started(), policy: { ...policy, unknown: "verify" } };
      ledger.save(id, null, claim, { verification: () => "secret" });
      expect(ledger.verification(id, ledger.find(id))).toBe("secret");
      ledger.save(id, ledger.find(id), completed(claim), { response });
      expect(sql.exec("SELECT verification FROM records").one()).toEqual({ verification: null });
    });
  });

  it("stores only the bytes of a view, not its whole buffer", async () => {
    await inLedger((ledger) => {
      const id = freshId();
      const record = completed(started());
      const bytes = new Uint8Array([9, 1, 2, 9]).subarray(1, 3);
      ledger.save(id, null, record, { response: { ...response, body: { kind: "inline", bytes } } });
      expect(ledger.find(id)?.response?.body).toEqual({ kind: "inline", bytes: new Uint8Array([1, 2]) });
    });
  });

  it("finds a record in any expiry bucket, also as the first access of an instance", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    await runInDurableObject(stub, (_instance, { storage }) => {
      const ids = Array.from({ length: 400 }, (_, index) => {
        const id = freshId();
        const at = epochMs(NOW + index * HOUR_MS);
        new Ledger(storage).save(id, null, completed(started(at), at));
        return id;
      });
      const fresh = new Ledger(storage);
      for (const id of ids) expect(fresh.find(id)).not.toBeNull();
      expect(fresh.find(freshId())).toBeNull();
    });
  });

  it("finds a record among ten thousand expiry buckets, with statements that the platform accepts", async () => {
    await inLedger((_ledger, _sql, storage) => {
      const texts: string[] = [];
      const sql: LedgerSql = {
        exec: (query, ...bindings) => {
          texts.push(query);
          return storage.sql.exec(query, ...bindings);
        },
      };
      const ledger = new Ledger({ sql, transactionSync: (run) => storage.transactionSync(run) });
      for (let second = 0; second < 10_000; second += 1) ledger.expiryBuckets.add(NOW / 1000 + second);
      const brief: Started = { ...started(), policy: { ...policy, retentionMs: durationMs(9_999_000) } };
      const id = freshId();
      ledger.save(id, null, completed(brief), { response });
      texts.length = 0;
      expect(ledger.find(id)?.record.state).toBe("completed");
      expect(ledger.find(freshId())).toBeNull();
      expect(texts.length).toBeGreaterThan(10);
      for (const text of texts) expect(new TextEncoder().encode(text).byteLength).toBeLessThan(20_000);
    });
  });

  it("has at most one expiry bucket per second for the shortest retention", async () => {
    await inLedger((ledger) => {
      const brief = { ...policy, lockMs: durationMs(1), retentionMs: durationMs(2) };
      for (let ms = 0; ms < 3000; ms += 1) {
        const at = epochMs(NOW + ms);
        const claim: Started = { ...started(at), policy: brief };
        ledger.expiryBuckets.add(expiryBucketOf({ ...completed(claim, at), policy: brief }));
      }
      // Plus the one of the records in flight.
      expect(ledger.expiryBuckets.all.size).toBeLessThanOrEqual(3 + 1 + 1);
    });
  });

  it("writes three rows over a key's whole life: claim, answer, erasure", async () => {
    await inLedger((_ledger, _sql, storage) => {
      const counted = countRows(storage.sql);
      const rowsWritten = (run: () => void): number => {
        counted.take();
        run();
        return counted.take().written;
      };
      const ledger = new Ledger({ sql: counted.sql, transactionSync: (run) => storage.transactionSync(run) });
      const id = freshId();
      const claim = started();
      const answer = completed(claim);
      expect(rowsWritten(() => ledger.save(id, null, claim))).toBe(1);
      expect(rowsWritten(() => ledger.save(id, ledger.find(id), answer, { response }))).toBe(1);
      expect(rowsWritten(() => ledger.find(id))).toBe(0);
      expect(rowsWritten(() => ledger.expired.erase(epochMs(NOW + 48 * HOUR_MS), 10))).toBe(1);
      expect(ledger.find(id)).toBeNull();
    });
  });

  it("lists only started records as in flight", async () => {
    await inLedger((ledger) => {
      const [one, two] = [freshId(), freshId()];
      const claim = started();
      ledger.save(one, null, claim);
      ledger.save(two, null, claim);
      ledger.save(two, ledger.find(two), completed(claim), { response });
      expect(ledger.inFlight().map(({ id }) => id)).toEqual([one]);
    });
  });

  it("erases about a mebibyte in a slice, also where the headers are what is large", () =>
    inLedger((ledger, sql) => {
      const headers = [["x-large", "h".repeat(60_000)]] as const;
      for (let more = 0; more < 60; more += 1) {
        ledger.save(freshId(), null, completed(started()), { response: { ...response, headers } });
      }
      const slices: number[] = [];
      const late = epochMs(NOW + 1000 * HOUR_MS);
      for (let erased = ledger.expired.erase(late, 100); erased > 0; erased = ledger.expired.erase(late, 100)) {
        slices.push(erased);
      }
      expect(Math.max(...slices) * 60_000).toBeLessThan(2 * ERASE_BYTES);
      expect(slices.reduce((sum, erased) => sum + erased, 0)).toBe(60);
      expect(chunksIn(sql)).toBe(0);
    }));

  it("erases in slices, oldest expiry buckets first, and never before a record has expired", async () => {
    await inLedger((ledger) => {
      const ids = Array.from({ length: 25 }, () => freshId());
      const record = completed(started());
      for (const id of ids) ledger.save(id, null, record, { response });
      expect(ledger.expired.erase(epochMs(record.expiresAt - 1), 10)).toBe(0);
      const bucketEnd = nextDeadline(ledger) ?? NOW;
      expect(bucketEnd).toBeGreaterThanOrEqual(record.expiresAt);
      expect(bucketEnd).toBeLessThanOrEqual(record.expiresAt + policy.retentionMs / 8);
      expect([1, 2, 3, 4].map(() => ledger.expired.erase(bucketEnd, 10))).toEqual([10, 10, 5, 0]);
      expect(nextDeadline(ledger)).toBeNull();
    });
  });

  it("gives the earliest end of a lock or an expiry bucket as the next deadline", async () => {
    await inLedger((ledger) => {
      expect(nextDeadline(ledger)).toBeNull();
      ledger.save(freshId(), null, completed(started()), { response });
      const bucket = nextDeadline(ledger);
      expect(bucket).toBeGreaterThan(NOW + 24 * HOUR_MS - 1);
      ledger.save(freshId(), null, started());
      expect(nextDeadline(ledger)).toBe(NOW + 40_000);
    });
  });

  it("refuses to read a record in an unknown state", async () => {
    await inLedger((ledger, sql, storage) => {
      const id = freshId();
      ledger.save(id, null, started());
      sql.exec("UPDATE records SET state = 'odd' WHERE id = ?", id);
      // Another instance, which has not written the record.
      expect(() => new Ledger(storage).find(id)).toThrow("cannot be read");
    });
  });
});
