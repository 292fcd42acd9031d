// What is left of a record whose key is remembered: its response goes when the retention ends, and its row moves to where the
// remembered time ends.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Started } from "../../../../src/kernel/record/record.ts";
import { durationMs, epochMs, type EpochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { type PreferredSlots, WHOLE_BUCKET } from "../../../../src/kernel/store/record-numbers.ts";
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

const REMEMBER_MS = durationMs(30 * 24 * HOUR_MS);
const END = epochMs(NOW + 24 * HOUR_MS);
/** When the bucket of the retention's end has ended as well. */
const LATE = epochMs(END + 4 * HOUR_MS);

function claimed(): Started {
  return { ...started(), policy: { ...policy, rememberMs: REMEMBER_MS } };
}

interface Opened {
  readonly ledger: Ledger;
  readonly storage: DurableObjectStorage;
  /** Rows that statements of the ledger have written since the last call. */
  readonly rowsWritten: () => number;
}

function inLedger(run: (opened: Opened) => void | Promise<void>, homes?: PreferredSlots): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, async (_instance, { storage }) => {
    const { sql, take } = countRows(storage.sql);
    const transactionSync = <T>(body: () => T): T => storage.transactionSync(body);
    const ledger = new Ledger({ sql, transactionSync }, env.BODIES, () => undefined, homes);
    const rowsWritten = (): number => take().written;
    rowsWritten();
    await run({ ledger, storage, rowsWritten });
  });
}

function complete(ledger: Ledger, id: RecordId, kept = response): IdempotencyRecord {
  const claim = claimed();
  ledger.save(id, null, claim, { label: { key: `key of ${id}`, route: "/v1/*" } });
  const record = completed(claim);
  ledger.save(id, ledger.find(id), record, { response: kept });
  return record;
}

const at = (record: IdempotencyRecord | null, now: EpochMs): IdempotencyRecord | null =>
  step(record, { type: "tick" }, policy, now).record;

describe("a record whose key is remembered", () => {
  it("costs one row more over its life: claim, answer, the end of its response, erasure", async () => {
    await inLedger(({ ledger, rowsWritten }) => {
      const id = freshId();
      const claim = claimed();
      ledger.save(id, null, claim);
      expect(rowsWritten()).toBe(1);
      ledger.save(id, ledger.find(id), completed(claim), { response });
      expect(rowsWritten()).toBe(1);
      expect(ledger.expired.erase(LATE, 10)).toBe(1);
      expect(rowsWritten()).toBe(1);
      expect(ledger.expired.erase(LATE, 10)).toBe(0);
      expect(ledger.expired.erase(epochMs(NOW + 2 * REMEMBER_MS), 10)).toBe(1);
      expect(rowsWritten()).toBe(1);
      expect(ledger.find(id)).toBeNull();
    });
  });

  it("is the same before and after its response is erased, also for a new instance, until it is forgotten", async () => {
    await inLedger(({ ledger, storage }) => {
      const id = freshId();
      const record = complete(ledger, id);
      const left = at(record, END);
      expect(left).toMatchObject({ state: "remembered", status: 201, expiresAt: NOW + REMEMBER_MS });
      expect(at(ledger.find(id)?.record ?? null, END)).toEqual(left);
      ledger.expired.erase(LATE, 10);
      for (const instance of [ledger, new Ledger(storage)]) {
        expect(instance.find(id)).toMatchObject({ record: left, response: null, body: null, history: [] });
        expect(instance.label(id, instance.find(id))).toEqual({ key: `key of ${id}`, route: "/v1/*" });
      }
      const end = nextDeadline(ledger) ?? NOW;
      expect(end).toBeGreaterThanOrEqual(NOW + REMEMBER_MS);
      expect(end).toBeLessThanOrEqual(NOW + REMEMBER_MS + REMEMBER_MS / 8);
      ledger.expired.erase(end, 10);
      expect(ledger.find(id)).toBeNull();
    });
  });

  it("is stored in a state of its own, without its response", async () => {
    await inLedger(({ ledger, storage }) => {
      const id = freshId();
      complete(ledger, id);
      ledger.expired.erase(LATE, 10);
      const columns =
        "state, kept, status, status_text, headers, body, chunks, body_number, history, verification, expires_at";
      expect(storage.sql.exec(`SELECT ${columns} FROM records`).one()).toEqual({
        state: "remembered",
        kept: null,
        status: 201,
        status_text: null,
        headers: null,
        body: null,
        chunks: null,
        body_number: null,
        history: null,
        verification: null,
        expires_at: NOW + REMEMBER_MS,
      });
    });
  });

  it("keeps nothing of a body, in one chunk, in many, in use, or in R2", async () => {
    await inLedger(async ({ ledger, storage }) => {
      const sized = (bytes: number): typeof response => ({
        ...response,
        body: { kind: "inline", bytes: new Uint8Array(bytes) },
      });
      const ids = [20_000, 3 * CHUNK_BYTES, 6 * CHUNK_BYTES].map((bytes) => {
        const id = freshId();
        complete(ledger, id, sized(bytes));
        return id;
      });
      const [, read = freshId()] = ids;
      const held = ledger.find(read)?.body ?? null;
      if (held === null) throw new Error("no body in chunks");
      ledger.bodies.hold(held);
      const remote = freshId();
      const claim = claimed();
      ledger.save(remote, null, claim);
      const parts = await ledger.remote.begin(claim.attempt.id);
      const part = new FixedLengthStream(1);
      const writer = part.writable.getWriter();
      void writer.write(new Uint8Array(1)).then(() => writer.close());
      await parts?.send(part.readable);
      await parts?.complete();
      const body = { kind: "remote", name: claim.attempt.id, size: 1 } as const;
      ledger.save(remote, ledger.find(remote), completed(claim), { response: { ...response, body } });
      expect((await env.BODIES.list()).objects.map(({ key }) => key)).toContain(`bodies/${claim.attempt.id}`);

      while (ledger.expired.erase(LATE, 10) > 0) continue;
      expect(ledger.bodies.read(held, 0)?.byteLength).toBe(CHUNK_BYTES);
      ledger.bodies.release(held);
      for (let slice = 0; slice < 10; slice += 1) ledger.bodies.eraseSome();
      await ledger.remote.eraseOne();
      expect(storage.sql.exec("SELECT count(*) AS n FROM chunks").one()).toEqual({ n: 0 });
      expect(storage.sql.exec("SELECT count(*) AS n FROM remote").one()).toEqual({ n: 0 });
      expect((await env.BODIES.list()).objects.map(({ key }) => key)).not.toContain(`bodies/${claim.attempt.id}`);
      for (const id of [...ids, remote]) expect(ledger.find(id)?.record.state).toBe("remembered");
    });
  });

  it("moves in slices, beside others that are erased, into places that are taken", async () => {
    await inLedger(
      ({ ledger }) => {
        const remembered = Array.from({ length: 30 }, freshId);
        const others = Array.from({ length: 30 }, freshId);
        for (const [index, id] of remembered.entries()) {
          complete(ledger, id);
          ledger.save(others[index] ?? id, null, completed(started()), { response });
        }
        const slices: number[] = [];
        for (let count = ledger.expired.erase(LATE, 25); count > 0; count = ledger.expired.erase(LATE, 25)) {
          slices.push(count);
        }
        expect(slices.reduce((sum, count) => sum + count, 0)).toBe(60);
        expect(Math.max(...slices)).toBeLessThanOrEqual(25);
        for (const id of remembered) expect(ledger.find(id)?.record.state).toBe("remembered");
        for (const id of others) expect(ledger.find(id)).toBeNull();
      },
      { of: () => 7, range: () => WHOLE_BUCKET },
    );
  });

  it("keeps its other names, which go with it", async () => {
    await inLedger(({ ledger }) => {
      const [id, alias] = [freshId(), freshId()];
      const claim = claimed();
      ledger.save(id, null, claim, { aliases: [alias] });
      ledger.save(id, ledger.find(id), completed(claim), { response });
      ledger.expired.erase(LATE, 10);
      expect(ledger.aliases.targets(alias).ids).toEqual([id]);
      ledger.expired.erase(epochMs(NOW + 2 * REMEMBER_MS), 10);
      expect(ledger.aliases.targets(alias).ids).toEqual([]);
    });
  });

  it("is left of a failed record only if an attempt may have acted", async () => {
    await inLedger(({ ledger }) => {
      const [acted, refused] = [freshId(), freshId()];
      const claim: Started = { ...claimed(), policy: { ...policy, unknown: "retry", rememberMs: REMEMBER_MS } };
      const reason = { kind: "dropped" } as const;
      for (const [id, type] of [
        [acted, "ambiguous"],
        [refused, "refused"],
      ] as const) {
        ledger.save(id, null, claim);
        const { record } = step(claim, { type, attemptId: claim.attempt.id, reason }, policy, NOW);
        ledger.save(id, ledger.find(id), record);
        expect(ledger.find(id)?.record).toEqual(record);
      }
      ledger.expired.erase(LATE, 10);
      expect(ledger.find(acted)?.record).toMatchObject({ state: "remembered", status: null });
      expect(ledger.find(refused)).toBeNull();
    });
  });
});
