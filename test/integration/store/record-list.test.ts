// The list of a shard's records: each once, in pages of any size, in its present state, with bounded work per call.

import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { step } from "../../../src/core/life-cycle.ts";
import type { IdempotencyRecord } from "../../../src/core/record.ts";
import { durationMs, type EpochMs, epochMs, later, type RecordId, recordId } from "../../../src/core/units.ts";
import { Ledger } from "../../../src/shard/store/ledger.ts";
import type { ListQuery } from "../../../src/shard/store/list-query.ts";
import { MAX_COUNTED, RecordList, type SeenRecord } from "../../../src/shard/store/record-list.ts";
import { completed, HOUR_MS, NOW, policy, response, started } from "../support/records.ts";

const ALL: Omit<ListQuery, "section"> = {
  keyHash: null,
  states: [],
  route: null,
  startedBefore: null,
  after: null,
  limit: 500,
};

/** The records as a shard without running attempts sees them. */
function seeAt(now: EpochMs): (id: RecordId, record: IdempotencyRecord) => IdempotencyRecord | null {
  return (_id, record) => step(record, { type: "tick" }, record.policy, now).record;
}

function inShard(run: (ledger: Ledger, list: RecordList, sql: SqlStorage) => void): Promise<void> {
  return runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    run(ledger, new RecordList(storage.sql, ledger.numbers), storage.sql);
  });
}

/** All pages of these sections, each of so many records. */
function read(list: RecordList, query: Partial<ListQuery>, now: EpochMs, limit = 500): readonly SeenRecord[] {
  const sections = query.section === undefined ? (["open", "completed"] as const) : [query.section];
  return sections.flatMap((section) => {
    const records: SeenRecord[] = [];
    let after: string | null = null;
    do {
      const page = list.page({ ...ALL, ...query, section, after, limit }, seeAt(now), now);
      expect(page.records.length).toBeLessThanOrEqual(limit);
      records.push(...page.records);
      after = page.next;
    } while (after !== null);
    return records;
  });
}

const idOf = (number: number, hash = "a"): RecordId =>
  recordId(hash.repeat(32) + number.toString(16).padStart(32, "0"));

/** Records of each state in several expiry buckets. Those whose id begins with an even number have the route `/even`. */
function fill(ledger: Ledger): void {
  for (let number = 0; number < 40; number += 1) {
    const at = epochMs(NOW - (number % 5) * 4 * HOUR_MS);
    const claim = started(at);
    const end = { attemptId: claim.attempt.id, reason: { kind: "dropped" } } as const;
    const label = { key: `key ${number}`, route: number % 2 === 0 ? "/even" : "/ödd/*" };
    const save = (record: IdempotencyRecord | null): void => ledger.save(idOf(number), null, record, { label });
    switch (number % 4) {
      case 0:
        save(claim);
        break;
      case 1:
        save(step(claim, { type: "ambiguous", ...end }, policy, at).record);
        break;
      case 2:
        save(step(claim, { type: "refused", ...end }, policy, at).record);
        break;
      default:
        ledger.save(idOf(number), null, completed(claim, at), { label, response });
    }
  }
}

it("shows every record once in pages of any size, open records first", () =>
  inShard((ledger, list) => {
    fill(ledger);
    const whole = read(list, {}, NOW).map(({ id }) => id);
    expect(whole.toSorted()).toEqual(Array.from({ length: 40 }, (_, number) => idOf(number)));
    for (const limit of [1, 2, 3, 7, 40]) expect(read(list, {}, NOW, limit).map(({ id }) => id)).toEqual(whole);
    const states = read(list, {}, NOW).map(({ record }) => record.state);
    expect(states.lastIndexOf("failed")).toBeLessThan(states.indexOf("completed"));
    const times = read(list, { section: "completed" }, NOW).map(({ record }) => record.attempt.startedAt);
    expect(times).toEqual(times.toSorted((one, other) => other - one));
  }));

it("filters by state, route and age", () =>
  inShard((ledger, list) => {
    fill(ledger);
    for (const state of ["started", "failed", "unknown", "completed"] as const) {
      const section = state === "completed" ? "completed" : "open";
      const found = read(list, { section, states: [state] }, NOW, 3).map(({ record }) => record.state);
      expect(new Set(found)).toEqual(new Set([state]));
    }
    const odd = read(list, { route: encodeURIComponent("/ödd/*") }, NOW, 3);
    expect(odd.map(({ route }) => route)).toEqual(Array.from({ length: 20 }, () => "/ödd/*"));
    const startedBefore = NOW - 16 * HOUR_MS;
    const old = read(list, { startedBefore }, NOW, 3).map(({ record }) => record.attempt.startedAt);
    expect(old).toEqual(Array.from({ length: 8 }, () => startedBefore));
  }));

it("finds the records of a key by the beginning of their ids, and no others", () =>
  inShard((ledger, list) => {
    fill(ledger);
    ledger.save(idOf(1, "b"), null, started(), { label: { key: "mine", route: "/" } });
    ledger.save(idOf(2, "b"), null, completed(started()), { label: { key: "mine", route: "/" }, response });
    ledger.save(idOf(3, "c"), null, completed(started()), { response });
    const found = read(list, { section: "key", keyHash: "b".repeat(32) }, NOW, 1);
    expect(found.map(({ id, key }) => [id, key])).toEqual([
      [idOf(1, "b"), "mine"],
      [idOf(2, "b"), "mine"],
    ]);
    expect(read(list, { section: "key", keyHash: "d".repeat(32) }, NOW)).toEqual([]);
    // By less than half of an id, and by a whole id, which names one record.
    expect(read(list, { section: "key", keyHash: "b".repeat(8) }, NOW, 1)).toHaveLength(2);
    for (const id of [idOf(1, "b"), idOf(2, "b"), idOf(3, "c")]) {
      expect(read(list, { section: "key", keyHash: id }, NOW, 1).map((one) => one.id)).toEqual([id]);
    }
    // Nor by the cursor of another list.
    for (const route of [null, encodeURIComponent("/")]) {
      const query = { ...ALL, section: "key", keyHash: "b".repeat(32), route, limit: 9 } as const;
      const { records } = list.page({ ...query, after: "bucket.0.0" }, seeAt(NOW), NOW);
      expect(records.map(({ key }) => key)).toEqual(["mine", "mine"]);
    }
  }));

it("shows records in their present state: locks that have ended as ended, and no expired records", () =>
  inShard((ledger, list) => {
    const claim = started();
    ledger.save(idOf(1), null, claim);
    ledger.save(idOf(2), null, completed(started()), { response });
    const states = (now: EpochMs): readonly string[] => read(list, {}, now).map(({ record }) => record.state);
    const { lockedUntil } = claim.attempt;
    expect(states(epochMs(lockedUntil - 1))).toEqual(["started", "completed"]);
    expect(states(lockedUntil)).toEqual(["unknown", "completed"]);
    expect(read(list, { states: ["started"] }, lockedUntil)).toEqual([]);
    // The bucket still holds it.
    expect(states(later(NOW, policy.unknownRetentionMs))).toEqual(["unknown"]);
    expect(states(later(lockedUntil, policy.unknownRetentionMs))).toEqual([]);
  }));

it("reads a bounded number of rows in one call, and continues from there in the next", () =>
  inShard((ledger, list, sql) => {
    const ROWS = 4500;
    const ids = Array.from({ length: ROWS }, (_, number) => idOf(number));
    for (const id of ids)
      ledger.save(id, null, completed(started()), { label: { key: "", route: "/other" }, response });
    const rows = sql
      .exec<{ slot: number; id: string }>("SELECT number & 2147483647 AS slot, id FROM records")
      .toArray();
    const last = rows.at(-1)?.id ?? "";
    sql.exec("UPDATE records SET route = '/last' WHERE id = ?", last);
    const query = { ...ALL, section: "completed", route: encodeURIComponent("/last") } as const;
    const first = list.page(query, seeAt(NOW), NOW);
    expect(first.records).toEqual([]);
    expect(first.next).toMatch(new RegExp(`\\.${rows[3999]?.slot}$`));
    const second = list.page({ ...query, after: first.next }, seeAt(NOW), NOW);
    expect(second).toMatchObject({ records: [{ id: last, route: "/last" }], next: null });
    // Also if only the state does not match.
    const none = list.page({ ...ALL, section: "completed", states: ["started"], limit: 10 }, seeAt(NOW), NOW);
    expect(none).toMatchObject({ records: [], next: expect.stringMatching(new RegExp(`\\.${rows[3999]?.slot}$`)) });
  }));

it("continues at its position when the expiry bucket there has expired meanwhile", () =>
  inShard((ledger, list) => {
    const short = { ...policy, retentionMs: durationMs(8 * HOUR_MS) };
    for (const [number, record] of [started(), { ...started(), policy: short }].entries()) {
      for (const twin of [0, 1]) ledger.save(idOf(10 * number + twin), null, completed(record), { response });
    }
    const query = { ...ALL, section: "completed", limit: 1 } as const;
    const first = list.page(query, seeAt(NOW), NOW);
    const afterwards = epochMs(NOW + 20 * HOUR_MS);
    const rest = list.page({ ...query, after: first.next, limit: 10 }, seeAt(afterwards), afterwards);
    const shown = [...first.records, ...rest.records].map(({ id }) => id);
    expect(shown.toSorted()).toEqual([idOf(0), idOf(1)]);
  }));

it("counts open records up to a bound, and says so when it has stopped there", () =>
  inShard((ledger, list) => {
    const claim = started(NOW);
    const end = { attemptId: claim.attempt.id, reason: { kind: "dropped" } } as const;
    const { record: failed } = step(claim, { type: "refused", ...end }, policy, NOW);
    const { record: unknown } = step(claim, { type: "ambiguous", ...end }, policy, NOW);
    const label = { key: "key", route: "/" };
    const add = (number: number, record: IdempotencyRecord | null): void =>
      ledger.save(idOf(number), null, record, { label });
    for (let number = 1; number < MAX_COUNTED; number += 1) add(number, failed);
    add(0, unknown);
    expect(list.countOpen(NOW)).toEqual({ failed: MAX_COUNTED - 1, unknown: 1, atLeast: [] });
    for (let more = 0; more < 5; more += 1) add(MAX_COUNTED + more, failed);
    expect(list.countOpen(NOW)).toEqual({ failed: MAX_COUNTED, unknown: 1, atLeast: ["failed"] });
    // Expired records are not counted, whether or not they are erased.
    const after = later(NOW, durationMs(10 * 24 * HOUR_MS));
    expect(list.countOpen(after)).toEqual({ failed: 0, unknown: 0, atLeast: [] });
  }));
