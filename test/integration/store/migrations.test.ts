// An update: this code on a ledger of any version before. A roll-back: this code on a ledger that a later one has migrated. Steps only ever add, so what this code knows is where
// it was; what it does not know it never takes for something else.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { epochMs, recordId } from "../../../src/core/units.ts";
import { Ledger } from "../../../src/shard/ledger.ts";
import { STEPS } from "../../../src/shard/migrations.ts";
import { completed, freshId, HOUR_MS, response, started } from "../support/records.ts";

/** A ledger of this code, then what a later one may do to its schema. */
function afterLaterCode<T>(run: (reopen: () => Ledger, sql: SqlStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    const { sql } = storage;
    const before = new Ledger(storage);
    before.save(freshId(), null, started());
    const steps = sql.exec<{ n: number }>("SELECT max(step) AS n FROM migrations").one().n;
    sql.exec("ALTER TABLE records ADD COLUMN later TEXT");
    sql.exec("CREATE TABLE later (id TEXT PRIMARY KEY) WITHOUT ROWID");
    sql.exec("CREATE INDEX later_records ON records (later) WHERE later IS NOT NULL");
    for (const step of [1, 2, 3]) sql.exec("INSERT INTO migrations VALUES (?)", steps + step);
    return run(() => new Ledger(storage), sql);
  });
}

it("keeps, finds and erases records on the schema of a later version, and leaves that schema alone", async () => {
  await afterLaterCode((reopen, sql) => {
    const schema = (): unknown => sql.exec("SELECT name, sql FROM sqlite_schema ORDER BY name").toArray();
    const steps = (): unknown => sql.exec("SELECT step FROM migrations").toArray();
    const before = [schema(), steps()];
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
    expect(ledger.erase(epochMs(done.expiresAt + 24 * HOUR_MS), 10)).toBe(1);
    expect(ledger.find(id)).toBeNull();
    expect([schema(), steps()]).toEqual(before);
  });
});

it("takes a record of a kind that only a later version knows neither for none nor for another", async () => {
  await afterLaterCode((reopen, sql) => {
    const ledger = reopen();
    const [known, later, guarded] = [freshId(), freshId(), freshId()];
    for (const id of [known, later, guarded]) ledger.save(id, null, completed(started()), { response });
    sql.exec("UPDATE records SET state = 'later' WHERE id = ?", later);
    sql.exec("UPDATE records SET unknown = 'later' WHERE id = ?", guarded);
    const fresh = reopen();
    expect(() => fresh.find(later)).toThrow("a record in an unknown state: later");
    expect(() => fresh.find(guarded)).toThrow("a record with an unknown policy: later");
    expect(fresh.find(known)?.record.state).toBe("completed");
  });
});

/** Everything that a schema says: the columns of each table, and each index. */
function schemaOf(sql: SqlStorage): unknown {
  const tables = ["records", "chunks", "discarded", "remote", "addresses"];
  const columns = tables.map((table) =>
    sql
      .exec<{ name: string; type: string; notnull: number; pk: number }>(`PRAGMA table_info(${table})`)
      .toArray()
      .map(({ name, type, notnull, pk }) => `${table}.${name} ${type} ${notnull} ${pk}`)
      .toSorted(),
  );
  const indexes = sql
    .exec("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
    .toArray();
  return { columns, indexes };
}

/** A fresh object's storage, of which nothing has been made yet. */
function inStorage<T>(run: (storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    const { sql } = storage;
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").toArray();
    for (const { name } of tables) if (!name.startsWith("_cf")) sql.exec(`DROP TABLE ${name}`);
    return run(storage);
  });
}

it.each([1, 4, 9, 10, 12])("brings a ledger on which %i steps were taken to the schema of a new one", async (taken) => {
  const fresh = await inStorage((storage) => {
    new Ledger(storage).find(freshId());
    return schemaOf(storage.sql);
  });
  await inStorage((storage) => {
    const { sql } = storage;
    sql.exec("CREATE TABLE migrations (step INTEGER PRIMARY KEY)");
    STEPS.slice(0, taken).forEach((statement, index) => {
      sql.exec(statement);
      sql.exec("INSERT INTO migrations VALUES (?)", index + 1);
    });
    sql.exec(
      "INSERT INTO records (bucket, id, state, fingerprint, attempt_id, attempt, started_at, locked_until, unknown, lock_ms, retention_ms) VALUES (0, 'old', 'started', 'f', 'a', 1, 1, 2, 'hold', 3, 4)",
    );
    const ledger = new Ledger(storage);
    expect(schemaOf(sql)).toEqual(fresh);
    expect(ledger.find(recordId("old"))?.record).toMatchObject({ state: "started", attempt: { id: "a" } });
  });
});
