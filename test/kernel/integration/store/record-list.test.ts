// The list of a shard's records: each once, newest first, in pages of any size and in any number of parts, in its present state, with
// bounded work per call.

import { env, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Waiting } from "../../../../src/kernel/record/record.ts";
import { writeNote } from "../../../../src/kernel/record/request-note.ts";
import {
  durationMs,
  type EpochMs,
  epochMs,
  timeAfter,
  type RecordId,
  recordId,
} from "../../../../src/kernel/record/units.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { MAX_CANDIDATES, MAX_GROWN } from "../../../../src/kernel/store/list-parts.ts";
import type { ListDirection, ListPosition, ListQuery } from "../../../../src/kernel/store/list-query.ts";
import { MAX_COUNTED, positionOf, RecordList, type SeenRecord } from "../../../../src/kernel/store/record-list.ts";
import { countRows } from "../../../support/integration/counted-sql.ts";
import {
  completed,
  EVERY_RECORD,
  HOUR_MS,
  NOW,
  policy,
  response,
  started,
} from "../../../support/integration/records.ts";

/** The records as a shard without running attempts sees them. */
function seeAt(now: EpochMs): (id: RecordId, record: IdempotencyRecord) => IdempotencyRecord | null {
  return (_id, record) => step(record, { type: "tick" }, record.policy, now).record;
}

interface Counted {
  readonly sql: SqlStorage;
  /** The rows that were read since the last call. */
  readonly rowsRead: () => number;
}

function inShard(run: (ledger: Ledger, list: RecordList, counted: Counted) => void): Promise<void> {
  return runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    const { sql, take } = countRows(storage.sql);
    const rowsRead = (): number => take().read;
    run(ledger, new RecordList(sql, ledger.numbers), { sql: storage.sql, rowsRead });
  });
}

/** All pages of a list in this direction, part by part. */
function read(list: RecordList, asked: Partial<ListQuery>, now = NOW, limit = 500): readonly SeenRecord[] {
  const query = { ...EVERY_RECORD, ...asked, limit };
  const found: SeenRecord[] = [];
  const parts = list.page(query, seeAt(now), now).parts;
  const numbers = Array.from({ length: parts }, (_, part) => part);
  for (const part of query.direction === "after" ? numbers : numbers.toReversed()) {
    let position: ListPosition | null = null;
    for (let more = true; more;) {
      const page = list.page({ ...query, parts, part, position }, seeAt(now), now);
      expect(page.records.length).toBeLessThanOrEqual(limit);
      found.push(...page.records);
      const last = page.records.at(-1);
      position = last === undefined ? null : positionOf(last);
      ({ more } = page);
    }
  }
  return found;
}

const statesOf = (records: readonly SeenRecord[]): readonly string[] => records.map(({ record }) => record.state);
const idsOf = (records: readonly SeenRecord[]): readonly RecordId[] => records.map(({ id }) => id);

const idOf = (number: number, hash = "a"): RecordId =>
  recordId(hash.repeat(32) + number.toString(16).padStart(32, "0"));

/** Ids all over the slots. */
const spreadId = (number: number): RecordId =>
  recordId(((number * 0x9e3779b1) >>> 0).toString(16).padStart(8, "0") + number.toString(16).padStart(56, "0"));

const SCHEDULE = {
  attempts: 2,
  firstPauseMs: durationMs(1),
  longestPauseMs: durationMs(1),
  giveUpAfterMs: durationMs(HOUR_MS),
};

function waiting(at: EpochMs): Waiting {
  const claim = started(at);
  const accepted = {
    schedule: SCHEDULE,
    acceptedAt: at,
    giveUpAt: timeAfter(at, SCHEDULE.giveUpAfterMs),
    lastAttempt: 2,
  };
  return { ...claim, state: "waiting", accepted, startAt: at };
}

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

it("shows every record once, newest first and of one time by the last id, in pages of any size and both directions", () =>
  inShard((ledger, list) => {
    fill(ledger);
    const whole = read(list, {});
    const expected = Array.from({ length: 40 }, (_, number) => number).toSorted(
      (one, other) => (one % 5) - (other % 5) || other - one,
    );
    expect(idsOf(whole)).toEqual(expected.map((number) => idOf(number)));
    for (const direction of ["after", "before"] as const satisfies readonly ListDirection[]) {
      const ordered = direction === "after" ? idsOf(whole) : idsOf(whole).toReversed();
      for (const limit of [1, 2, 3, 7, 40]) expect(idsOf(read(list, { direction }, NOW, limit))).toEqual(ordered);
    }
    expect(list.page({ ...EVERY_RECORD, limit: 3 }, seeAt(NOW), NOW)).toMatchObject({
      matched: 40,
      more: true,
      parts: 1,
    });
  }));

it("filters by state, route, time, caller and status, and counts what matches on all pages", () =>
  inShard((ledger, list) => {
    fill(ledger);
    const request = { method: "POST", target: "/", sizeBytes: 1, label: null, excerptUntil: null };
    const note = writeNote({ ...request, caller: "0123456789ab" });
    ledger.save(idOf(90), null, started(), { label: { key: "noted", route: "/noted", note } });
    const other = writeNote({ ...request, label: '"caller":"0123456789ab"', caller: "ba9876543210" });
    ledger.save(idOf(91), null, started(), { label: { key: "other", route: "/noted", note: other } });
    for (const state of ["started", "failed", "unknown", "completed"] as const) {
      const found = read(list, { states: [state] }, NOW, 3);
      // Of ten attempts in flight eight have lost their locks.
      const count = { started: 2 + 2, failed: 10, unknown: 10 + 8, completed: 10 }[state];
      expect([new Set(statesOf(found)), found.length]).toEqual([new Set([state]), count]);
    }
    const odd = read(list, { route: "/ödd/*" }, NOW, 3);
    expect(odd.map(({ route }) => route)).toEqual(Array.from({ length: 20 }, () => "/ödd/*"));
    const times = (asked: Partial<ListQuery>): ReadonlySet<number> =>
      new Set(read(list, asked, NOW, 3).map(({ record }) => (NOW - record.attempt.startedAt) / HOUR_MS));
    expect(times({ until: NOW - 12 * HOUR_MS })).toEqual(new Set([12, 16]));
    expect(times({ since: NOW - 8 * HOUR_MS })).toEqual(new Set([0, 4, 8]));
    expect(times({ since: NOW - 8 * HOUR_MS, until: NOW - 8 * HOUR_MS })).toEqual(new Set([8]));
    expect(times({ since: NOW - 8 * HOUR_MS + 1, until: NOW - 4 * HOUR_MS - 1 })).toEqual(new Set());
    expect(read(list, { caller: "0123456789ab" }).map(({ key }) => key)).toEqual(["noted"]);
    expect(read(list, { status: 201 })).toHaveLength(10);
    expect(read(list, { status: 202 })).toEqual([]);
    expect(read(list, { status: 201, states: ["failed"] })).toEqual([]);
    const page = list.page(
      { ...EVERY_RECORD, states: ["unknown", "completed"], since: NOW, limit: 1 },
      seeAt(NOW),
      NOW,
    );
    expect(page).toMatchObject({ matched: 4, more: true });
    expect(page.records).toHaveLength(1);
  }));

it("finds the records of a key by the beginning of their ids, and no others", () =>
  inShard((ledger, list) => {
    fill(ledger);
    ledger.save(idOf(1, "b"), null, started(), { label: { key: "mine", route: "/" } });
    ledger.save(idOf(2, "b"), null, completed(started()), { label: { key: "mine", route: "/" }, response });
    ledger.save(idOf(3, "c"), null, completed(started()), { response });
    const found = read(list, { keyHash: "b".repeat(32) }, NOW, 1);
    expect(found.map(({ id, key }) => [id, key])).toEqual([
      [idOf(2, "b"), "mine"],
      [idOf(1, "b"), "mine"],
    ]);
    expect(read(list, { keyHash: "d".repeat(32) })).toEqual([]);
    // By less than half of an id, and by a whole id, which names one record.
    expect(read(list, { keyHash: "b".repeat(8) }, NOW, 1)).toHaveLength(2);
    for (const id of [idOf(1, "b"), idOf(2, "b"), idOf(3, "c")]) {
      expect(idsOf(read(list, { keyHash: id }, NOW, 1))).toEqual([id]);
    }
    // A search has one part, whatever is asked for.
    const query = { ...EVERY_RECORD, keyHash: "b".repeat(32), parts: 8, part: 3 };
    expect(list.page(query, seeAt(NOW), NOW)).toMatchObject({ parts: 1, matched: 2 });
  }));

describe("shows records in their present state:", () => {
  it("locks that have ended as ended, and no expired records", () =>
    inShard((ledger, list) => {
      const claim = started();
      ledger.save(idOf(1), null, claim);
      ledger.save(idOf(2), null, completed(started()), { response });
      const states = (now: EpochMs): readonly string[] => statesOf(read(list, {}, now));
      const { lockedUntil } = claim.attempt;
      expect(states(epochMs(lockedUntil - 1))).toEqual(["completed", "started"]);
      expect(states(lockedUntil)).toEqual(["completed", "unknown"]);
      expect(read(list, { states: ["started"] }, lockedUntil)).toEqual([]);
      expect(read(list, { states: ["failed"] }, lockedUntil)).toEqual([]);
      expect(read(list, { states: ["unknown"] }, lockedUntil)).toHaveLength(1);
      const page = list.page({ ...EVERY_RECORD, states: ["unknown"], limit: 1 }, seeAt(lockedUntil), lockedUntil);
      expect(page).toMatchObject({ matched: 1, more: false });
      // The bucket still holds it.
      expect(states(timeAfter(NOW, policy.unknownRetentionMs))).toEqual(["unknown"]);
      expect(states(timeAfter(lockedUntil, policy.unknownRetentionMs))).toEqual([]);
    }));

  it("of an expired record what its key is remembered for", () =>
    inShard((ledger, list) => {
      const remembering = { ...started(), policy: { ...policy, rememberMs: durationMs(1000 * HOUR_MS) } };
      ledger.save(idOf(1), null, completed(remembering), { response });
      ledger.save(idOf(2), null, completed(started()), { response });
      const expired = timeAfter(NOW, policy.retentionMs);
      expect(statesOf(read(list, {}, epochMs(expired - 1)))).toEqual(["completed", "completed"]);
      expect(read(list, {}, expired)).toMatchObject([{ id: idOf(1), record: { state: "remembered" } }]);
      expect(idsOf(read(list, { states: ["remembered"], status: 201 }, expired))).toEqual([idOf(1)]);
      expect(read(list, { states: ["completed"] }, expired)).toEqual([]);
      // Also when its whole bucket has ended, while the alarm has not come yet.
      const late = timeAfter(expired, durationMs(4 * HOUR_MS));
      expect(idsOf(read(list, {}, late))).toEqual([idOf(1)]);
      expect(idsOf(read(list, { states: ["remembered"], status: 201 }, late))).toEqual([idOf(1)]);
      expect(idsOf(read(list, { keyHash: idOf(1) }, late))).toEqual([idOf(1)]);
      expect(list.page({ ...EVERY_RECORD, limit: 1 }, seeAt(late), late)).toMatchObject({ matched: 1, more: false });
      expect(read(list, { states: ["completed"] }, late)).toEqual([]);
      // Also when it has been moved to where that ends.
      while (ledger.expired.erase(late, 10) > 0);
      expect(idsOf(read(list, { states: ["remembered"], status: 201 }, late))).toEqual([idOf(1)]);
      expect(read(list, { states: ["completed"] }, late)).toEqual([]);
    }));

  it("what waits, and what has waited too long as given up", () =>
    inShard((ledger, list) => {
      ledger.save(idOf(1), null, waiting(NOW));
      const tooLate = epochMs(NOW + HOUR_MS + 1);
      for (const [now, state] of [[epochMs(tooLate - 1), "waiting"] as const, [tooLate, "failed"] as const]) {
        expect(statesOf(read(list, {}, now))).toEqual([state]);
        for (const asked of ["waiting", "failed", "unknown"] as const) {
          expect(statesOf(read(list, { states: [asked] }, now))).toEqual(asked === state ? [state] : []);
        }
      }
    }));
});

it("is the same in any number of parts, each in order, for any records and at any time", () =>
  inShard((ledger, list, { sql }) => {
    const kinds = fc.constantFrom("started", "waiting", "failed", "unknown", "completed", "remembering");
    const stored = fc.record({
      kind: kinds,
      agoMs: fc.constantFrom(0, 1, 39_999, 40_000, HOUR_MS, 24 * HOUR_MS, 30 * HOUR_MS, 60 * HOUR_MS),
    });
    const filters = fc.record({
      states: fc.subarray(["started", "waiting", "failed", "unknown", "completed", "remembered"] as const),
      status: fc.constantFrom(null, 201),
      since: fc.constantFrom(null, NOW - HOUR_MS),
      until: fc.constantFrom(null, NOW - 1),
    });
    fc.assert(
      fc.property(
        fc.array(stored, { maxLength: 30, size: "max" }),
        filters,
        fc.nat(3),
        fc.nat(4),
        (records, filter, power, size) => {
          sql.exec("DELETE FROM records");
          for (const [number, { kind, agoMs }] of records.entries()) {
            const at = epochMs(NOW - agoMs);
            const claim = started(at);
            const expiresAt = timeAfter(at, policy.retentionMs);
            const one: IdempotencyRecord = {
              started: () => claim,
              waiting: () => waiting(at),
              failed: () => ({ ...claim, state: "failed", retryFrom: at, expiresAt }) as const,
              unknown: () => ({ ...claim, state: "unknown", expiresAt, verifyAt: null, verifications: 0 }) as const,
              completed: () => completed(claim, at),
              remembering: () =>
                completed({ ...claim, policy: { ...policy, rememberMs: durationMs(50 * HOUR_MS) } }, at),
            }[kind]();
            ledger.save(spreadId(number), null, one, { response: one.state === "completed" ? response : null });
          }
          // As the life cycle says, record by record.
          const expected = [...records.keys()].flatMap((number) => {
            const id = spreadId(number);
            const entry = ledger.find(id);
            const record = entry === null ? null : seeAt(NOW)(id, entry.record);
            const at = record?.attempt.startedAt ?? 0;
            const isListed =
              record !== null &&
              (filter.states.length === 0 || filter.states.includes(record.state)) &&
              (filter.status === null || ("status" in record && record.status === filter.status)) &&
              at >= (filter.since ?? 0) &&
              at <= (filter.until ?? Infinity);
            return isListed ? [id] : [];
          });
          const parts = 2 ** power;
          for (const direction of ["after", "before"] as const) {
            const whole = Array.from({ length: parts }, (_, part) => {
              const query = { ...EVERY_RECORD, ...filter, parts, part, direction };
              const { records: own, matched } = list.page(query, seeAt(NOW), NOW);
              expect(matched).toBe(own.length);
              const order = (one: SeenRecord, other: SeenRecord): number =>
                other.record.attempt.startedAt - one.record.attempt.startedAt || (one.id > other.id ? -1 : 1);
              const inOrder = direction === "after" ? own : own.toReversed();
              expect(inOrder).toEqual(own.toSorted(order));
              let position: ListPosition | null = null;
              const paged: SeenRecord[] = [];
              for (let more = true; more;) {
                const page = list.page({ ...query, position, limit: 1 + size }, seeAt(NOW), NOW);
                paged.push(...page.records);
                ({ more } = page);
                const last = page.records.at(-1);
                position = last === undefined ? null : positionOf(last);
              }
              expect(idsOf(paged)).toEqual(idsOf(own));
              return own;
            });
            expect(idsOf(whole.flat()).toSorted()).toEqual(expected.toSorted());
          }
        },
      ),
      { numRuns: 150 },
    );
  }));

/** Finished records of one time, with their ids all over the slots. */
function insertMany(ledger: Ledger, from: number, to: number): void {
  const record = completed(started());
  const label = { key: "", route: "/other" };
  for (let number = from; number < to; number += 1) ledger.save(spreadId(number), null, record, { label, response });
}

it(
  "needs the fewest parts with 4,000 rows each, and remembers how many these were",
  () =>
    inShard((ledger, list, { rowsRead, sql }) => {
      const first = { ...EVERY_RECORD, limit: 10 };
      const partsNow = (): number => list.page(first, seeAt(NOW), NOW).parts;
      insertMany(ledger, 0, MAX_CANDIDATES);
      expect(partsNow()).toBe(1);
      insertMany(ledger, MAX_CANDIDATES, MAX_CANDIDATES + 1);
      rowsRead();
      expect(partsNow()).toBe(2);
      const searched = rowsRead();
      expect(partsNow()).toBe(2);
      expect(rowsRead()).toBeLessThan(searched - MAX_CANDIDATES);
      insertMany(ledger, MAX_CANDIDATES + 1, 2 * MAX_CANDIDATES + 400);
      expect(partsNow()).toBe(4);
      // A part has about 2,100 rows now. They are counted, sorted (which SQLite counts as another reading), and only the newest read whole.
      rowsRead();
      const page = list.page(first, seeAt(NOW), NOW);
      expect(page.records).toHaveLength(10);
      expect(Math.abs(page.matched - 2100)).toBeLessThan(200);
      expect(rowsRead()).toBeLessThan(3 * page.matched + 100);
      // The same list has one part again when it has become small.
      sql.exec("DELETE FROM records WHERE number IN (SELECT number FROM records LIMIT ?)", 2 * MAX_CANDIDATES);
      expect(partsNow()).toBe(1);
      expect(list.page(first, seeAt(NOW), NOW)).toMatchObject({ matched: 400 });
    }),
  60_000,
);

it(
  "obeys a cursor's parts until they have grown four times as large, and reads no more than that",
  () =>
    inShard((ledger, list, { rowsRead }) => {
      const query = { ...EVERY_RECORD, parts: 1, part: 0, route: "/none" };
      insertMany(ledger, 0, MAX_GROWN);
      expect(list.page(query, seeAt(NOW), NOW)).toEqual({ records: [], more: false, matched: 0, parts: 1 });
      insertMany(ledger, MAX_GROWN, MAX_GROWN + 10);
      rowsRead();
      expect(list.page({ ...query, route: null }, seeAt(NOW), NOW)).toEqual({
        records: [],
        more: false,
        matched: 0,
        parts: 2,
      });
      expect(rowsRead()).toBeLessThan(MAX_GROWN + 20);
      // A list that begins anew reads as much as it takes to see that a part is too large, and then the parts that it needs.
      rowsRead();
      const fresh = list.page({ ...EVERY_RECORD, limit: 1 }, seeAt(NOW), NOW);
      expect(fresh).toMatchObject({ parts: 8, more: true });
      expect(rowsRead()).toBeLessThan(5 * MAX_CANDIDATES);
    }),
  60_000,
);

it("finds the open records among many others without reading those", () =>
  inShard((ledger, list, { rowsRead }) => {
    insertMany(ledger, 0, 3000);
    fill(ledger);
    rowsRead();
    for (const states of [["unknown"], ["failed", "waiting"], ["started"]] as const) {
      expect(read(list, { states }).length).toBeGreaterThanOrEqual(2);
    }
    // Six calls, with some rows for each bucket and each statement.
    expect(rowsRead()).toBeLessThan(1000);
  }));

it("continues at its position when the expiry bucket there has expired meanwhile", () =>
  inShard((ledger, list) => {
    const short = { ...policy, retentionMs: durationMs(8 * HOUR_MS) };
    for (const [number, record] of [started(), { ...started(epochMs(NOW + 1)), policy: short }].entries()) {
      for (const twin of [0, 1]) ledger.save(idOf(10 * number + twin), null, completed(record), { response });
    }
    const first = list.page({ ...EVERY_RECORD, limit: 1 }, seeAt(NOW), NOW);
    const [last] = first.records;
    if (last === undefined) throw new Error("no first page");
    const afterwards = epochMs(NOW + 20 * HOUR_MS);
    const rest = list.page(
      { ...EVERY_RECORD, parts: 1, part: 0, position: positionOf(last) },
      seeAt(afterwards),
      afterwards,
    );
    expect(idsOf([...first.records, ...rest.records])).toEqual([idOf(11), idOf(1), idOf(0)]);
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
    const after = timeAfter(NOW, durationMs(10 * 24 * HOUR_MS));
    expect(list.countOpen(after)).toEqual({ failed: 0, unknown: 0, atLeast: [] });
  }));
