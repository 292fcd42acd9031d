// This code on a ledger that later code has used. Later code only ever adds to the schema, so what this code knows is where it was; what it does not
// know it never takes for something else.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { completed, freshId, HOUR_MS, response, started } from "../../../support/integration/records.ts";

/** A ledger of this code, then what a later one may do to its schema. */
function afterLaterCode<T>(run: (reopen: () => Ledger, sql: SqlStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    const { sql } = storage;
    const before = new Ledger(storage);
    before.save(freshId(), null, started());
    sql.exec("ALTER TABLE records ADD COLUMN later TEXT");
    sql.exec("CREATE TABLE later (id TEXT PRIMARY KEY) WITHOUT ROWID");
    sql.exec("CREATE INDEX later_records ON records (later) WHERE later IS NOT NULL");
    return run(() => new Ledger(storage), sql);
  });
}

it("keeps, finds and erases records on the schema of a later version, and does not change that schema", async () => {
  await afterLaterCode((reopen, sql) => {
    const schema = (): unknown => sql.exec("SELECT name, sql FROM sqlite_schema ORDER BY name").toArray();
    const before = schema();
    const ledger = reopen();
    const id = freshId();
    const claim = started();
    ledger.save(id, null, claim);
    const done = completed(claim);
    ledger.save(id, ledger.find(id), done, { response });
    const entry = reopen().find(id);
    expect(entry?.record).toEqual(done);
    expect(entry?.response).toEqual(response);
    expect(ledger.inFlight()).toHaveLength(1);
    expect(ledger.expired.erase(epochMs(done.expiresAt + 24 * HOUR_MS), 10)).toBe(1);
    expect(ledger.find(id)).toBeNull();
    expect(schema()).toEqual(before);
  });
});

it("treats a record of a kind that only a later version knows neither as absent nor as another kind", async () => {
  await afterLaterCode((reopen, sql) => {
    const ledger = reopen();
    const [known, later, guarded] = [freshId(), freshId(), freshId()];
    for (const id of [known, later, guarded]) ledger.save(id, null, completed(started()), { response });
    sql.exec("UPDATE records SET state = 'later' WHERE id = ?", later);
    sql.exec("UPDATE records SET unknown = 'later' WHERE id = ?", guarded);
    const fresh = reopen();
    expect(() => fresh.find(later)).toThrow("cannot be read: a record's state");
    expect(() => fresh.find(guarded)).toThrow("cannot be read: a record's rule");
    expect(fresh.find(known)?.record.state).toBe("completed");
  });
});
