// The seal of an object and what it knows of its elders, in workerd: durable, written once, and enforced by SQLite itself.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import type { HeldKeys } from "../../../../src/kernel/record/held-keys.ts";
import { KnownElders } from "../../../../src/kernel/previous-shards/elder-rows.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { StoreError } from "../../../../src/kernel/store/store-error.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { completed, freshId, HOUR_MS, NOW, response, started } from "../../../support/integration/records.ts";
import { LaterTables } from "../../../../src/kernel/store/later-tables.ts";

function inShard<T>(run: (ledger: Ledger, storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => run(new Ledger(storage), storage));
}

const tablesOf = (sql: SqlStorage): LaterTables => new LaterTables(sql, (run) => run());

it("a sealed object takes no new record, whatever code tries, and keeps the life of those that it has", () =>
  inShard((ledger, storage) => {
    const id = freshId();
    const claim = started();
    ledger.save(id, null, claim);
    ledger.seal.close("128", NOW);
    expect(() => ledger.save(freshId(), null, started())).toThrow(StoreError);
    expect(() => storage.sql.exec("INSERT INTO records SELECT * FROM records")).toThrow("sealed");
    // Another bucket is another primary key, and still an UPDATE.
    const done = completed(claim);
    ledger.save(id, ledger.find(id), done, { response });
    expect(new Ledger(storage).find(id)?.record).toEqual(done);
    expect(ledger.expired.erase(epochMs(done.expiresAt + 24 * HOUR_MS), 10)).toBe(1);
    expect(storage.sql.exec("SELECT id FROM records").toArray()).toEqual([]);
  }));

it("an object is sealed once, for one layout, also across instances", () =>
  inShard((ledger, storage) => {
    expect(ledger.seal.next).toBeNull();
    expect(ledger.seal.close("128", NOW)).toBe("128");
    expect(ledger.seal.close("256", NOW)).toBe("128");
    const { seal } = new Ledger(storage);
    expect(seal.next).toBe("128");
    expect(seal.close("256", NOW)).toBe("128");
    expect(storage.sql.exec("SELECT one, next, at FROM seal").toArray()).toEqual([{ one: 1, next: "128", at: NOW }]);
  }));

it("a seal that fails leaves the object open, in memory and in the database", () =>
  inShard((ledger, storage) => {
    // The transaction's last statement fails.
    storage.sql.exec("CREATE TRIGGER sealed BEFORE DELETE ON records BEGIN SELECT 1; END");
    expect(() => ledger.seal.close("128", NOW)).toThrow(StoreError);
    expect(ledger.seal.next).toBeNull();
    expect(new Ledger(storage).seal.next).toBeNull();
    ledger.save(freshId(), null, started());
  }));

it("a seal costs a few rows, once", async () => {
  const shard = new CountedShard();
  await shard.begin();
  await shard.within((ledger) => {
    shard.take();
    ledger.seal.close("128", NOW);
    expect(shard.take()).toMatchObject({ statements: 5, rowsWritten: 8 });
    ledger.seal.close("128", NOW);
    expect(shard.take()).toMatchObject({ statements: 0 });
  });
});

it("what is known of an elder is stored when it is new, and kept when less is heard", () =>
  inShard((ledger, { sql }) => {
    const { elders } = ledger;
    const writes = (note: () => void): number => {
      const changes = (): number => sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
      const before = changes();
      note();
      return changes() - before;
    };
    const note = (next: string | null, held: HeldKeys | null): void =>
      elders.note("shard-0-of-2", { layout: "2", next, held }, NOW);
    const [a, b, c] = [freshId(), freshId(), freshId()];
    const all = (...ids: readonly string[]): HeldKeys => ({
      begin: "",
      hashes: ids.map((id) => id.slice(8, 16)).join(""),
    });
    expect(elders.isEmpty).toBe(true);
    expect(writes(() => note(null, null))).toBe(1);
    expect(writes(() => note("4", null))).toBe(1);
    expect(writes(() => note("4", null))).toBe(0);
    expect(writes(() => note("4", all(a, b)))).toBe(1);
    expect(writes(() => note("4", all(b)))).toBe(0);
    expect(writes(() => note(null, null))).toBe(0);
    const mayHold = (known: KnownElders): readonly (boolean | undefined)[] =>
      [a, b, c].map((id) => known.get("shard-0-of-2")?.held.mayHold(id));
    expect(mayHold(elders)).toEqual([true, true, false]);
    const reopened = new KnownElders(tablesOf(sql));
    expect(mayHold(reopened)).toEqual([true, true, false]);
    expect(reopened.get("shard-0-of-2")).toMatchObject({ layout: "2", next: "4" });
    expect([...reopened.layouts]).toEqual(["2"]);
    expect(reopened.isEmpty).toBe(false);
  }));

/** A list of so many keys. */
const listOf = (begin: string, keys: number): HeldKeys => ({
  begin,
  hashes: Array.from({ length: keys }, (_, key) => key.toString(16).padStart(8, "0")).join(""),
});

it("a list for which there is no room replaces nothing, and what is stored fits after a restart", () =>
  inShard(({ elders }, { sql }) => {
    const note = (known: KnownElders, name: string, held: HeldKeys): void =>
      known.note(name, { layout: name, next: "4", held }, NOW);
    note(elders, "A", listOf("a00", 10));
    note(elders, "A", listOf("0", 999_000));
    note(elders, "A", listOf("a", 4000));
    expect(elders.get("A")?.held.isFull).toBe(true);
    expect(elders.get("A")?.held.covers("a00".padEnd(32, "0"))).toBe(true);
    note(elders, "B", listOf("b", 991));
    note(elders, "B", listOf("c", 990));
    const reopened = new KnownElders(tablesOf(sql), NOW);
    const covers = (name: string, begin: string) => reopened.get(name)?.held.covers(begin.padEnd(32, "0"));
    expect([covers("A", "a00"), covers("A", "0"), covers("B", "b"), covers("B", "c")]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  }));

it("an object that can write nothing starts, and a list that it has forgotten is replaced later", () =>
  inShard((ledger, storage) => {
    const note = (known: KnownElders, at: number): void =>
      known.note("A", { layout: "A", next: "4", held: listOf("a", 3) }, epochMs(at));
    note(ledger.elders, NOW);
    storage.sql.exec("CREATE TRIGGER full BEFORE DELETE ON listed BEGIN SELECT RAISE(ABORT, 'disk full'); END");
    const late = NOW + 25 * HOUR_MS;
    const known = new KnownElders(tablesOf(storage.sql), epochMs(late));
    expect(known.get("A")?.held.covers("a".padEnd(32, "0"))).toBe(false);
    storage.sql.exec("DROP TRIGGER full");
    note(known, late);
    expect(known.get("A")?.held.covers("a".padEnd(32, "0"))).toBe(true);
  }));

it("a list of a part of an elder's keys is stored for a day, until one of more keys takes its place", () =>
  inShard((ledger, { sql }) => {
    const name = "shard-0-of-2";
    const note = (begin: string, hashes = ""): void =>
      ledger.elders.note(name, { layout: "2", next: "4", held: { begin, hashes } }, NOW);
    const stored = (): readonly unknown[] =>
      sql
        .exec("SELECT begin, length(hashes) AS bytes FROM listed ORDER BY begin")
        .toArray()
        .map(({ begin, bytes }) => [begin, bytes]);
    const covered = (now: number, ...begins: readonly string[]): readonly unknown[] => {
      const { held } = new KnownElders(tablesOf(sql), epochMs(now)).get(name) ?? {};
      return begins.map((begin) => held?.covers(begin.padEnd(32, "0")));
    };
    note("0a1", "0123456789abcdef");
    note("0b1");
    note("1");
    expect(stored()).toEqual([
      ["0a1", 8],
      ["0b1", 0],
      ["1", 0],
    ]);
    expect(covered(NOW + 24 * HOUR_MS, "0a1", "0b1", "0c1", "1")).toEqual([true, true, false, true]);
    note("0");
    note("0a1", "0123456789abcdef");
    expect(stored()).toEqual([
      ["0", 0],
      ["1", 0],
    ]);
    expect(covered(NOW + 24 * HOUR_MS + 1, "0", "1")).toEqual([false, false]);
    note("");
    expect(covered(NOW + 9999 * HOUR_MS, "0", "1")).toEqual([true, true]);
  }));
