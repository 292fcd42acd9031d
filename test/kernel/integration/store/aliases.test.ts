// Names of records in older scopes: what is remembered of them when a write fails, and what a look-up and an erasure read.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { MAX_TARGETS } from "../../../../src/kernel/previous-scope/aliases.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { completed, freshId, HOUR_MS, NOW, response, started } from "../../../support/integration/records.ts";

/** A ledger whose writes of records fail while `fails` says so. */
function failingLedger(storage: DurableObjectStorage, fails: () => boolean): Ledger {
  return new Ledger({
    sql: {
      exec: (query, ...values) => {
        if (fails() && query.includes("INTO records")) throw new Error("database or disk is full: SQLITE_FULL");
        return storage.sql.exec(query, ...values);
      },
    },
    transactionSync: (run) => storage.transactionSync(run),
  });
}

function within(run: (storage: DurableObjectStorage) => void): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => run(storage));
}

it("after the first claim with an alias has failed, every later look-up and write works", () =>
  within((storage) => {
    let fails = false;
    const ledger = failingLedger(storage, () => fails);
    const [other, id, alias] = [freshId(), freshId(), freshId()];
    ledger.save(other, null, completed(started()), { response });
    fails = true;
    expect(() => ledger.save(id, null, started(), { aliases: [alias] })).toThrow("SQLITE_FULL");
    fails = false;
    expect(ledger.aliases.exist).toBe(false);
    expect(ledger.aliases.targets(other).ids).toEqual([]);
    // A larger write, which is a transaction too.
    const large = { ...response, body: { kind: "inline", bytes: new Uint8Array(5000) } } as const;
    ledger.save(freshId(), null, completed(started()), { response: large });
    ledger.save(id, null, started(), { aliases: [alias] });
    expect(ledger.aliases.targets(alias).ids).toEqual([id]);
    expect(ledger.expired.erase(epochMs(NOW + 1000 * HOUR_MS), 10)).toBe(2);
  }));

it("a look-up reads a few of a name's records, and an erasure those of its record alone", () =>
  within((storage) => {
    const ledger = new Ledger(storage);
    const [shared, ids] = [freshId(), Array.from({ length: 200 }, () => freshId())];
    for (const id of ids) ledger.save(id, null, started(), { aliases: [shared] });
    const { fingerprint } = started();
    for (const { ids: some, isCut } of [ledger.aliases.targets(shared), ledger.aliases.targets(shared, fingerprint)]) {
      expect([some.length, isCut]).toEqual([MAX_TARGETS, true]);
    }
    const [first = freshId()] = ids;
    let rowsRead = 0;
    const exec = storage.sql.exec.bind(storage.sql);
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const watched = new Ledger({
      sql: {
        exec: <T extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]) => {
          const cursor = exec<T>(query, ...values);
          if (query.startsWith("DELETE FROM aliases")) cursors.push(cursor);
          return cursor;
        },
      },
      transactionSync: (run) => storage.transactionSync(run),
    });
    watched.save(first, watched.find(first), null);
    for (const cursor of cursors) rowsRead += cursor.rowsRead;
    expect(cursors).toHaveLength(1);
    expect(rowsRead).toBeLessThanOrEqual(3);
    expect(exec("SELECT 1 FROM aliases").toArray()).toHaveLength(ids.length - 1);
  }));
