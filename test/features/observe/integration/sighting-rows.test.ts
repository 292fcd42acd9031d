// What an object keeps of sightings: rows that expire, sums that stay, and nothing for an exchange. Times are given, as the object's clock gives them.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { KnownKey } from "../../../../src/features/observe/classify.ts";
import {
  EXAMPLE_CALL,
  EXAMPLES_CALL,
  type ObservedExample,
  MOST_EXAMPLES,
  MOST_OF_A_KIND,
} from "../../../../src/features/observe/example.ts";
import { OBSERVED_CALLS } from "../../../../src/features/observe/day-counts.ts";
import { KEPT_DAYS } from "../../../../src/features/observe/object/sighting-days.ts";
import { SightingRows } from "../../../../src/features/observe/object/sighting-rows.ts";
import { type RequestSighting, type SightingBatch, SIGHTINGS_CALL } from "../../../../src/features/observe/sighting.ts";
import { DAY_MS, HOUR_MS } from "../../../../src/kernel/config/units.ts";
import { askObject } from "../../../../src/kernel/object/call-shard.ts";
import { LaterTables } from "../../../../src/kernel/store/schema.ts";

/** The beginning of a day. */
const NOW = 20_000 * DAY_MS;
const DAY = 20_000;

const KNOWN: KnownKey = {
  fingerprint: "f",
  beganAt: NOW,
  endedAt: NOW + 10,
  end: "result",
  body: "b",
  hasSuccess: true,
  effects: [],
};

const idOf = (at: number): string => at.toString(16).padStart(32, "0").repeat(2);

/** Each `use` is another instance over the same database. */
function startRows() {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  const use = <T>(run: (rows: SightingRows, sql: SqlStorage) => T): Promise<T> =>
    runInDurableObject(stub, (_object, { storage }) =>
      run(new SightingRows(new LaterTables(storage.sql, (steps) => storage.transactionSync(steps))), storage.sql),
    );
  const insert = (rows: SightingRows, at: number, keepMs = HOUR_MS): void => {
    rows.insert(
      { id: idOf(at), route: "/a", day: DAY, names: ["first"], until: NOW + keepMs, known: KNOWN },
      rows.find(idOf(at), NOW + 1).expired,
      NOW,
    );
  };
  return { use, insert };
}

/** As the alarm does it. */
function look(rows: SightingRows, now: number): number {
  let turns = 0;
  for (let at = rows.nextAt(now); at !== null && at <= now; at = rows.nextAt(now)) {
    rows.erase(now);
    turns += 1;
  }
  return turns;
}

describe("the rows of sightings", () => {
  it("have no table, and no work, until something is seen", async () => {
    const { use } = startRows();
    await use((rows) => {
      expect([rows.find(idOf(1), NOW).known, rows.days(0), rows.nextAt(NOW)]).toEqual([null, [], null]);
    });
  });

  it("cost one row to write and one to erase", async () => {
    const { use, insert } = startRows();
    await use((rows, sql) => {
      insert(rows, 0);
      insert(rows, 1);
      const written = (run: () => void): number => {
        const before = sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
        run();
        return sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n - before;
      };
      expect(written(() => insert(rows, 2))).toBe(1);
      // Three keys, their sum, the hour of the look.
      expect(written(() => look(rows, NOW + 2 * HOUR_MS))).toBe(5);
    });
  });

  it("count once, before and after they are erased, whichever instance is asked", async () => {
    const { use, insert } = startRows();
    const counts = [{ day: DAY, route: "/a", counts: { first: 450 } }];
    await use((rows) => {
      for (let at = 0; at < 450; at += 1) insert(rows, at, at % 3 === 0 ? 10 * HOUR_MS : HOUR_MS);
      expect(rows.days(DAY)).toEqual(counts);
    });
    await use((rows) => {
      expect(rows.days(DAY)).toEqual(counts);
      expect(look(rows, NOW + HOUR_MS - 1)).toBe(0);
      expect(look(rows, NOW + 2 * HOUR_MS)).toBe(3);
      expect(rows.days(DAY)).toEqual(counts);
      expect(rows.find(idOf(1), NOW).known).toBeNull();
      expect(rows.find(idOf(3), NOW).known).toEqual(KNOWN);
    });
    await use((rows) => {
      expect(rows.days(DAY)).toEqual(counts);
      expect(look(rows, NOW + 11 * HOUR_MS)).toBeGreaterThan(0);
      expect(rows.days(DAY)).toEqual(counts);
    });
  });

  it("end with their sums, and the alarm with them", async () => {
    const { use, insert } = startRows();
    await use((rows) => insert(rows, 0));
    await use((rows) => {
      expect(rows.nextAt(NOW)).toBe(NOW + HOUR_MS);
      look(rows, NOW + KEPT_DAYS * DAY_MS);
      expect(rows.days(0)).toHaveLength(1);
      look(rows, NOW + (KEPT_DAYS + 1) * DAY_MS);
      expect([rows.days(0), rows.nextAt(NOW + 20 * DAY_MS)]).toEqual([[], null]);
      // And begin anew.
      insert(rows, 1);
      expect(rows.nextAt(NOW)).toBe(NOW + HOUR_MS);
    });
  });

  it("are not kept by a clock that was ahead", async () => {
    const { use } = startRows();
    await use((rows) => {
      const ahead = NOW + 30 * DAY_MS;
      const first = { id: idOf(0), route: "/a", day: DAY + 30, names: ["first"], known: KNOWN };
      rows.insert({ ...first, until: ahead + HOUR_MS }, null, ahead);
      expect(rows.nextAt(NOW)).toBe(NOW);
      look(rows, NOW);
      expect(rows.find(idOf(0), NOW).known).toBeNull();
    });
  });

  it("count a key again that has expired and comes before it is erased", async () => {
    const { use, insert } = startRows();
    await use((rows) => {
      insert(rows, 0, 1);
      expect(rows.find(idOf(0), NOW + 1).known).toBeNull();
      insert(rows, 0);
      expect(rows.days(DAY)).toEqual([{ day: DAY, route: "/a", counts: { first: 2 } }]);
    });
  });

  it("find the same request of another caller, and not the key alone", async () => {
    const { use } = startRows();
    await use((rows) => {
      const [one, other] = ["a".repeat(32) + "1".repeat(32), "a".repeat(32) + "2".repeat(32)];
      rows.insert({ id: one, route: "/a", day: DAY, names: ["first"], until: NOW + 1, known: KNOWN }, null, NOW);
      expect(rows.find(other, NOW).elsewhere("f")).toEqual(KNOWN);
      for (const [id, fingerprint, now] of [
        [one, "f", NOW],
        [other, "g", NOW],
        [other, "f", NOW + 1],
        [`${"b".repeat(32)}${"2".repeat(32)}`, "f", NOW],
      ] as const) {
        expect(rows.find(id, now).elsewhere(fingerprint)).toBeNull();
      }
    });
  });
});

describe("an object that is told of sightings", () => {
  const SIGHTING: RequestSighting = {
    id: "c".repeat(64),
    isKeyless: false,
    route: "/b",
    fingerprint: "f",
    beganAt: 1000,
    endedAt: 1010,
    end: "result",
    isSuccess: true,
    body: "b",
    effect: "1",
    marks: ["over-timeout"],
  };
  const ask = (sightings: readonly RequestSighting[], counted: SightingBatch["counted"] = []): SightingBatch => ({
    questions: sightings.map((sighting) => ({ sighting, unknown: "hold", keepMs: HOUR_MS })),
    counted,
  });

  it("says what each is, and counts it, with what isolates have counted", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    const counted = [{ route: "/b", name: "key-missing", count: 2 }];
    expect(await askObject(stub, SIGHTINGS_CALL, ask([], counted))).toEqual([]);
    const second = { ...SIGHTING, beganAt: 5000, endedAt: 5010, effect: "2", marks: [] };
    const third = { ...second, beganAt: 500_000, endedAt: 500_001 };
    // Those of one batch are compared with each other too, also in the first batch of an object.
    expect(await askObject(stub, SIGHTINGS_CALL, ask([SIGHTING, second]))).toEqual([
      { class: "first", evidence: null, earlierAt: null },
      { class: "replay", evidence: "doubled", earlierAt: 1000 },
    ]);
    expect(await askObject(stub, SIGHTINGS_CALL, ask([third]))).toEqual([
      { class: "replay", evidence: "deduplicated", earlierAt: 1000 },
    ]);
    const [day] = await askObject(stub, OBSERVED_CALLS.observed, undefined);
    expect(day?.counts).toEqual({
      "key-missing": 2,
      first: 1,
      "over-timeout": 1,
      replay: 2,
      "gap:1m": 1,
      "gap:10m": 1,
      "effect:doubled": 1,
      "effect:deduplicated": 1,
    });
  });

  it("has no record of them, and an alarm", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    await askObject(stub, SIGHTINGS_CALL, ask([SIGHTING]));
    await runInDurableObject(stub, async (_object, { storage }) => {
      expect(storage.sql.exec("SELECT 1 FROM records").toArray()).toEqual([]);
      expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + HOUR_MS);
    });
  });
});

describe("examples", () => {
  it("are a few of each kind, and at most so many of a route and day", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    const example = (kind: ObservedExample["kind"], route = "/a"): ObservedExample => ({
      kind,
      route,
      at: Date.now(),
      earlierAt: null,
      method: "POST",
      status: 201,
      keyHash: "0".repeat(32),
      key: "k",
    });
    const add = (one: ObservedExample): Promise<boolean> => askObject(stub, EXAMPLE_CALL, one);
    for (let at = 0; at <= MOST_OF_A_KIND; at += 1) expect(await add(example("key-reused"))).toBe(at < MOST_OF_A_KIND);
    const room = MOST_EXAMPLES - MOST_OF_A_KIND;
    for (let at = 0; at <= room; at += 1) expect(await add(example("doubled"))).toBe(at < room);
    expect(await add(example("doubled", "/b"))).toBe(true);
    const kept = await askObject(stub, EXAMPLES_CALL, { since: Date.now() - DAY_MS });
    expect(kept.filter(({ route }) => route === "/a")).toHaveLength(MOST_EXAMPLES);
    expect(kept[0]?.route).toBe("/b");
  });
});
