// An update: this code on a ledger of any version before. A roll-back: this code on a ledger that a later one has migrated. Steps only ever add, so what this code knows is where
// it was; what it does not know it never takes for something else.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { migrate, STEPS } from "../../../../src/kernel/store/schema.ts";
import { completed, freshId, HOUR_MS, response, started } from "../../../support/integration/records.ts";

/** A ledger of this code, then what a later one may do to its schema. */
function afterLaterCode<T>(run: (reopen: () => Ledger, sql: SqlStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    const { sql } = storage;
    const before = new Ledger(storage);
    before.save(freshId(), null, started());
    const steps = sql.exec<{ n: number }>("SELECT max(step) AS n FROM steps_taken").one().n;
    sql.exec("ALTER TABLE records ADD COLUMN later TEXT");
    sql.exec("CREATE TABLE later (id TEXT PRIMARY KEY) WITHOUT ROWID");
    sql.exec("CREATE INDEX later_records ON records (later) WHERE later IS NOT NULL");
    for (const step of [1, 2, 3]) sql.exec("INSERT INTO steps_taken VALUES (?)", steps + step);
    return run(() => new Ledger(storage), sql);
  });
}

it("keeps, finds and erases records on the schema of a later version, and does not change that schema", async () => {
  await afterLaterCode((reopen, sql) => {
    const schema = (): unknown => sql.exec("SELECT name, sql FROM sqlite_schema ORDER BY name").toArray();
    const steps = (): unknown => sql.exec("SELECT step FROM steps_taken").toArray();
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
    expect(ledger.expired.erase(epochMs(done.expiresAt + 24 * HOUR_MS), 10)).toBe(1);
    expect(ledger.find(id)).toBeNull();
    expect([schema(), steps()]).toEqual(before);
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

/** Two steps of a later version. */
const LATER = [
  ["ALTER TABLE records ADD COLUMN later TEXT"],
  ["CREATE TABLE later (id TEXT PRIMARY KEY) WITHOUT ROWID", "CREATE INDEX later_records ON records (later)"],
];

it.each([0, 1, 2])(
  "runs the missing steps of a ledger with %i of the later ones, once, and keeps its records",
  (taken) => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    return runInDurableObject(stub, (_instance, { storage }) => {
      const { sql } = storage;
      const id = freshId();
      const claim = started();
      new Ledger(storage).save(id, null, claim);
      const done = (): number | null => sql.exec<{ n: number }>("SELECT max(step) AS n FROM steps_taken").one().n;
      migrate(sql, [...STEPS, ...LATER.slice(0, taken)]);
      expect(done()).toBe(STEPS.length + taken);
      migrate(sql, [...STEPS, ...LATER]);
      expect(done()).toBe(STEPS.length + LATER.length);
      const schema = (): unknown => sql.exec("SELECT name, sql FROM sqlite_schema ORDER BY name").toArray();
      const before = schema();
      expect(JSON.stringify(before)).toContain("later_records");
      migrate(sql, [...STEPS, ...LATER]);
      expect(schema()).toEqual(before);
      expect(new Ledger(storage).find(id)?.record).toEqual(claim);
    });
  },
);

it("gives a new database the same columns as one that took the steps one by one", () => {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, async (_instance, { storage }) => {
    const { sql } = storage;
    const columns = (): unknown =>
      sql.exec("SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info('records') ORDER BY cid").toArray();
    const fresh = columns();
    expect(JSON.stringify(fresh)).toContain("remember_ms");
    await storage.deleteAll();
    for (const taken of STEPS.keys()) migrate(sql, STEPS.slice(0, taken + 1));
    expect(columns()).toEqual(fresh);
  });
});

it.each([
  ["whose steps were others", "migrations", []],
  ["whose records had another key", "schema_steps", ["CREATE TABLE records (bucket INTEGER, id TEXT)"]],
])("refuses a database of a development version %s, and says what to do", (_what, steps, others) => {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, async (_instance, { storage }) => {
    await storage.deleteAll();
    storage.sql.exec(`CREATE TABLE ${steps} (step INTEGER PRIMARY KEY)`);
    storage.sql.exec(`INSERT INTO ${steps} VALUES (1)`);
    for (const other of others) storage.sql.exec(other);
    const tables = (): unknown =>
      storage.sql
        .exec(
          "SELECT name FROM sqlite_schema WHERE name IN ('migrations', 'schema_steps', 'steps_taken', 'records', 'chunks') ORDER BY name",
        )
        .toArray();
    const before = tables();
    expect(() => new Ledger(storage)).toThrow(new RegExp(`has a table "${steps}".*erase its state \\(`));
    expect(tables()).toEqual(before);
  });
});
