// The list over all shards: every record once and in order, however they are spread over shards and parts, in pages of any size,
// forward and back, also while records come and go.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Started } from "../../../src/kernel/record/record.ts";
import { attemptId, durationMs, epochMs, fingerprint, recordId } from "../../../src/kernel/record/units.ts";
import { type AskForList, listRecords } from "../../../src/operator/list.ts";
import { type ListResult, listInGroups } from "../../../src/operator/list-groups.ts";
import { FIRST, LAST_PAGE } from "../../../src/operator/list-cursor.ts";
import { compareNewest, isAhead, type ListPosition } from "../../../src/kernel/store/list-query.ts";
import type { SeenRecord } from "../../../src/kernel/store/record-list.ts";

/** What a shard has, and how many parts that needs. */
interface Shard {
  records: readonly ListPosition[];
  needs: number;
  /** How many parts it needs where ids begin with 8: somebody has chosen keys. */
  needsAt8?: number;
}

const MS = durationMs(1);
const POLICY = { unknown: "hold", lockMs: MS, retentionMs: MS, unknownRetentionMs: MS } as const;

function seen({ startedAt, id }: ListPosition): SeenRecord {
  const at = epochMs(startedAt);
  const attempt = { id: attemptId("a"), number: 1, startedAt: at, lockedUntil: at, mayHaveActed: false };
  const record: Started = { state: "started", fingerprint: fingerprint("f"), attempt, policy: POLICY };
  return { id: recordId(id), key: "", route: "", record, reason: null };
}

/** By the beginning of its id, as slots are. */
function partOf(id: string, parts: number): number {
  return Math.floor((Number.parseInt(id.slice(0, 3), 16) * parts) / 4096);
}

/** Shards in memory that answer as real ones do. They record how often each was asked, and how many at once. */
function gatewayOf(shards: readonly Shard[]) {
  const asked: string[] = [];
  const now = { running: 0, most: 0 };
  const places = shards.map((_shard, number) => ({
    name: `shard-${number}-of-${shards.length}`,
    jurisdiction: null,
    locationHint: null,
    layout: String(shards.length),
  }));
  const ask: AskForList = async (place, query) => {
    asked.push(place.name);
    now.most = Math.max(now.most, ++now.running);
    await Promise.resolve();
    now.running -= 1;
    const shard: Shard = shards[places.findIndex(({ name }) => name === place.name)] ?? { records: [], needs: 1 };
    const { records, needs, needsAt8 = 1 } = shard;
    const { direction, limit } = query;
    const partIn = (of: number): number => query.part ?? (direction === "after" ? 0 : of - 1);
    const hasMany = (of: number): boolean => partIn(of) === Math.floor(of / 2) && 4 * of < needsAt8;
    const own8 = hasMany(needs) ? needsAt8 : needs;
    const parts = query.parts ?? own8;
    const part = partIn(parts);
    if (4 * parts < needs || hasMany(parts)) return { records: [], more: false, matched: 0, parts: 2 * parts };
    const own = records.filter(({ id }) => partOf(id, parts) === part).toSorted(compareNewest);
    const ahead = (direction === "after" ? own : own.toReversed()).filter((one) => isAhead(one, query));
    return { records: ahead.slice(0, limit).map(seen), more: ahead.length > limit, matched: own.length, parts };
  };
  return { places, ask, asked, now };
}

type Gateway = ReturnType<typeof gatewayOf>;

async function pageAt({ places, ask }: Gateway, cursor: string | null, limit: number): Promise<ListResult> {
  const page = await listInGroups(places, cursor, limit, ask);
  if (page === null) throw new Error("no page");
  expect(page.records.length).toBeLessThanOrEqual(limit);
  return page;
}

const idsOf = ({ records }: Pick<ListResult, "records">): readonly string[] => records.map(({ id }) => id);

/** All pages from a cursor on, by one of their links. */
async function walk(
  gateway: Gateway,
  begin: string | null,
  limit: number,
  by: "cursor" | "previous",
  between: (page: ListResult) => void = () => undefined,
): Promise<readonly ListResult[]> {
  const pages: ListResult[] = [];
  for (let at: string | null | undefined; at !== null;) {
    const page: ListResult = await pageAt(gateway, at ?? begin, limit);
    pages.push(page);
    between(page);
    at = page[by];
    if (pages.length > 2000) throw new Error("the list does not end");
  }
  return pages;
}

/** The order that a list has to have. */
function inOrder(shards: readonly Shard[]): readonly string[] {
  const parts = Math.max(...shards.map(({ needs }) => needs), 1);
  return shards
    .flatMap(({ records }) => records)
    .toSorted((one, other) => partOf(one.id, parts) - partOf(other.id, parts) || compareNewest(one, other))
    .map(({ id }) => id);
}

const record = fc.record({
  // Few, so that many records have the same.
  startedAt: fc.nat(6),
  id: fc.tuple(fc.nat(4095), fc.nat(2 ** 30)).map(([begin, rest]) => {
    return begin.toString(16).padStart(3, "0") + rest.toString(16).padStart(61, "0");
  }),
});
/** Most in one shard, so that it has more of a page than its share. */
const owner = fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, { arbitrary: fc.nat(4), weight: 1 });
const limits = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 20, max: 40 }));
const stored = fc.uniqueArray(fc.tuple(owner, record), { selector: ([, { id }]) => id, maxLength: 80, size: "max" });
const powers = fc.oneof(fc.constant([0, 0, 0, 0, 0]), fc.array(fc.nat(3), { minLength: 5, maxLength: 5 }));

function shardsOf(all: readonly (readonly [number, ListPosition])[], needs: readonly number[]): readonly Shard[] {
  return needs.map((power, shard) => ({
    records: all.filter(([own]) => own === shard).map(([, one]) => one),
    needs: 2 ** power,
  }));
}

describe("the list over all shards", () => {
  it("shows every record once and in order, forward, and the same from its end back", () =>
    fc.assert(
      fc.asyncProperty(stored, powers, limits, async (all, needs, limit) => {
        const shards = shardsOf(all, needs);
        const gateway = gatewayOf(shards);
        const whole = inOrder(shards);
        const pages = await walk(gateway, null, limit, "cursor");
        expect(pages.flatMap(idsOf)).toEqual(whole);
        expect(pages[0]?.previous).toBeNull();
        const back = await walk(gateway, LAST_PAGE, limit, "previous");
        expect(back.toReversed().flatMap(idsOf)).toEqual(whole);
        expect(back[0]?.cursor).toBeNull();
        // One part is counted exactly, and so are all of them.
        for (const { total, parts } of pages) {
          expect(total.isExact).toBe(parts.last - parts.first + 1 === parts.count);
          if (total.isExact) expect(total.count).toBe(whole.length);
          expect(parts.count).toBe(Math.max(...needs.map((power) => 2 ** power)));
        }
      }),
      { numRuns: 300 },
    ));

  it("divides a part that has far more than others, and shows every record once, forward and back", () =>
    fc.assert(
      fc.asyncProperty(stored, powers, limits, fc.nat(8), async (all, needs, limit, power) => {
        const [first, ...others] = shardsOf(all, needs);
        if (first === undefined) return;
        const gateway = gatewayOf([{ ...first, needsAt8: 2 ** power }, ...others]);
        const whole = all.map(([, { id }]) => id).toSorted();
        for (const [begin, by] of [
          [null, "cursor"],
          [LAST_PAGE, "previous"],
        ] as const) {
          const pages = await walk(gateway, begin, limit, by);
          expect(pages.flatMap(idsOf).toSorted()).toEqual(whole);
          for (const { total } of pages) if (total.isExact) expect(total.count).toBe(whole.length);
        }
      }),
      { numRuns: 300 },
    ));

  it("leads back from each page to the one before, and forward again", () =>
    fc.assert(
      fc.asyncProperty(stored, powers, limits, async (all, needs, limit) => {
        const gateway = gatewayOf(shardsOf(all, needs));
        const pages = await walk(gateway, null, limit, "cursor");
        const before: string[] = [];
        for (const page of pages) {
          if (page.previous === null) expect(before).toEqual([]);
          else {
            const back = await pageAt(gateway, page.previous, limit);
            expect(idsOf(back)).toEqual(before.slice(-limit));
            const forward = back.cursor === null ? [] : idsOf(await pageAt(gateway, back.cursor, limit));
            expect(forward).toEqual(idsOf(page));
          }
          before.push(...idsOf(page));
        }
      }),
      { numRuns: 300 },
    ));

  it("skips and repeats nothing that stays, while records come and go, in both directions", () =>
    fc.assert(
      fc.asyncProperty(
        stored,
        powers,
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom("cursor", "previous"),
        fc.array(fc.tuple(fc.nat(4), record, fc.nat(100)), { maxLength: 40, size: "max" }),
        async (all, needs, limit, by, changes) => {
          const shards = shardsOf(all, needs);
          const gateway = gatewayOf(shards);
          const whole = inOrder(shards);
          const gone = new Set<string>();
          let at = 0;
          const pages = await walk(gateway, by === "cursor" ? null : LAST_PAGE, limit, by, () => {
            for (const [number, more, which] of changes.slice(at, (at += 2))) {
              const shard = shards[number];
              if (shard === undefined) continue;
              const { records } = shard;
              const lost = records[which % Math.max(1, records.length)];
              if (lost !== undefined) gone.add(lost.id);
              // One of that id begins again.
              gone.add(more.id);
              shard.records = [...records.filter((one) => one !== lost), more];
            }
          });
          const shown = (by === "cursor" ? pages : pages.toReversed()).flatMap(idsOf);
          const stays = whole.filter((id) => !gone.has(id));
          expect(shown.filter((id) => stays.includes(id))).toEqual(stays);
        },
      ),
      { numRuns: 300 },
    ));

  it("stays in order when shards are added between two pages, and their records are among the others", async () => {
    const own = (number: number): ListPosition => ({ startedAt: number, id: number.toString(16).padStart(64, "0") });
    const [one, two] = [0, 1].map((odd) => ({
      records: Array.from({ length: 20 }, (_, number) => own(2 * number + odd)),
      needs: 1,
    }));
    if (one === undefined || two === undefined) throw new Error("two shards");
    const first = await pageAt(gatewayOf([one]), null, 5);
    const rest = await walk(gatewayOf([one, two]), first.cursor, 5, "cursor");
    expect(idsOf(first)).toEqual([38, 36, 34, 32, 30].map((number) => own(number).id));
    expect(rest.flatMap(idsOf)).toEqual(Array.from({ length: 30 }, (_, number) => own(29 - number).id));
  });

  it("continues without an unreachable shard, names it, asks it once for a page, and does not call its total exact", async () => {
    const shards = Array.from({ length: 6 }, (_, number) => ({
      records: [{ startedAt: 1, id: number.toString(16).padStart(64, "0") }],
      needs: 4,
    }));
    const gateway = gatewayOf(shards);
    const deaf: AskForList = async (place, query) => {
      const page = await gateway.ask(place, query);
      return place.name === "shard-2-of-6" ? null : page;
    };
    const listed = await listInGroups(gateway.places, null, 500, deaf, ["shard-4-of-6"]);
    expect(listed).toMatchObject({
      unreachable: ["shard-4-of-6", "shard-2-of-6"],
      total: { count: 4, isExact: false },
      parts: { first: 1, last: 4, count: 4 },
    });
    expect(listed?.records.map(({ shard }) => shard)).toEqual([5, 3, 1, 0].map((shard) => `shard-${shard}-of-6`));
    expect(gateway.asked.filter((name) => name === "shard-2-of-6")).toHaveLength(1);
    expect(gateway.asked.filter((name) => name === "shard-4-of-6")).toEqual([]);
  });

  it("asks sixteen shards at a time, mostly once, and looks no further after some hundred calls", async () => {
    const many = (needs: number, count: number): Gateway =>
      gatewayOf(
        Array.from({ length: 64 }, (_, shard) => ({
          records: Array.from({ length: count }, (_record, number) => ({
            startedAt: number,
            id: number.toString(16).padStart(3, "0").padEnd(60, "0") + shard.toString(16).padStart(4, "0"),
          })),
          needs,
        })),
      );
    const full = many(1, 100);
    expect(idsOf(await pageAt(full, null, 50))).toHaveLength(50);
    expect(full.asked).toHaveLength(64);
    expect(full.now.most).toBe(16);
    const empty = many(1024, 0);
    const page = await pageAt(empty, null, 50);
    expect(page).toMatchObject({ records: [], previous: null, parts: { first: 1, last: 4, count: 1024 } });
    expect(empty.asked).toHaveLength(4 * 64);
    expect(await pageAt(empty, page.cursor, 50)).toMatchObject({ parts: { first: 5, last: 8 } });
  });

  it("refuses a cursor of no list, and one whose parts have grown too large", async () => {
    const shards = [{ records: [], needs: 4 }];
    const { places, ask } = gatewayOf(shards);
    const id = "a".repeat(64);
    for (const cursor of [
      "",
      "nowhere",
      "after~3~0~",
      "after~4~4~",
      "after~131072~0~",
      "after~4~0~1",
      `after~4~0~1~${id}a`,
      `in~4~0~1~${id}`,
      "open~shard-0-of-1~",
    ]) {
      expect(await listInGroups(places, cursor, 5, ask)).toBeNull();
    }
    for (const cursor of ["after~4~0~", `before~4~3~1~${id}`, "after~1~0~", "after~65536~65535~"]) {
      expect(await listInGroups(places, cursor, 5, ask)).not.toBeNull();
    }
    for (const shard of shards) shard.needs = 8;
    expect(await listInGroups(places, `after~1~0~1~${id}`, 5, ask)).toBeNull();
    expect(await listInGroups(places, `after~2~0~1~${id}`, 5, ask)).not.toBeNull();
    // A part that has not begun is divided.
    expect(await listInGroups(places, "after~1~0~", 5, ask)).toMatchObject({ parts: { count: 2 } });
    // Also if one grows while a page is read.
    const records = Array.from({ length: 50 }, (_, number) => ({
      startedAt: number,
      id: "0".padEnd(64, "1") + number,
    }));
    const growing = [
      { records, needs: 4 },
      { records: [], needs: 1 },
      { records: [], needs: 1 },
    ];
    const gateway = gatewayOf(growing);
    const grown: AskForList = async (place, query) => {
      const page = await gateway.ask(place, query);
      for (const shard of growing) shard.needs = 8;
      return page;
    };
    expect(await listInGroups(gateway.places, "after~1~0~", 50, gateway.ask)).not.toBeNull();
    expect(await listInGroups(gateway.places, "after~1~0~", 50, grown)).toBeNull();
  });
});

describe("the list over so many shards that it is read in groups", () => {
  const SHARDS = 600;
  const ids = (from: readonly string[]): readonly string[] => from.toSorted();

  /** Each record in a shard of its number; `needs` parts in one of the shards. */
  function manyShards(owners: readonly number[], needs: number): readonly Shard[] {
    return Array.from({ length: SHARDS }, (_, shard) => ({
      records: owners.flatMap((shardOf, number) =>
        shardOf === shard
          ? [
              {
                startedAt: number,
                id: ((number * 37) % 4096).toString(16).padStart(3, "0") + String(number).padStart(61, "0"),
              },
            ]
          : [],
      ),
      needs: shard === 300 ? needs : 1,
    }));
  }
  const owners = fc.array(fc.oneof(fc.constant(3), fc.nat(SHARDS - 1), fc.integer({ min: 256, max: 300 })), {
    maxLength: 60,
    size: "max",
  });

  it("shows every record once, forward and back, newest first in each group and part", () =>
    fc.assert(
      fc.asyncProperty(owners, fc.constantFrom(1, 1, 4), limits, async (all, needs, limit) => {
        const shards = manyShards(all, needs);
        const gateway = gatewayOf(shards);
        const forward = await walk(gateway, null, limit, "cursor");
        const whole = forward.flatMap(idsOf);
        expect(ids(whole)).toEqual(ids(shards.flatMap(({ records }) => records.map(({ id }) => id))));
        const back = await walk(gateway, LAST_PAGE, limit, "previous");
        expect(back.toReversed().flatMap(idsOf)).toEqual(whole);
        if (needs > 1) return;
        const groups = Map.groupBy(
          forward.flatMap(({ records }) => records),
          ({ shard }) => Math.floor(Number(shard.split("-")[1]) / 256),
        );
        expect([...groups.keys()]).toEqual([...groups.keys()].toSorted((one, other) => one - other));
        for (const [, records] of groups) {
          const times = records.map(({ record: { attempt } }) => attempt.startedAt);
          expect(times).toEqual(times.toSorted((one, other) => other - one));
        }
      }),
      { numRuns: 30 },
    ));

  it("makes no more calls for a page than it may, and goes on where it has stopped", async () => {
    const crowded = Array.from({ length: 1000 }, (_, number) => number % SHARDS);
    for (const maxCalls of [640, 900]) {
      const gateway = gatewayOf(manyShards(crowded, 4));
      const seenIds: string[] = [];
      let cursor: string | null = null;
      do {
        gateway.asked.length = 0;
        const page: ListResult | null = await listInGroups(gateway.places, cursor, 500, gateway.ask, [], maxCalls);
        if (page === null) throw new Error("no page");
        expect(gateway.asked.length).toBeLessThanOrEqual(maxCalls);
        expect(page.calls).toBe(gateway.asked.length);
        seenIds.push(...idsOf(page));
        ({ cursor } = page);
      } while (cursor !== null);
      expect(new Set(seenIds).size).toBe(1000);
      expect(seenIds).toHaveLength(1000);
    }
  });

  it("ends a page where its calls are spent, in the middle of a group", async () => {
    const gateway = gatewayOf(
      manyShards(
        Array.from({ length: 200 }, () => 3),
        1,
      ),
    );
    const places = gateway.places.slice(0, 10);
    const begin = { ...FIRST, group: 0 };
    const first = await listRecords(places, begin, 100, gateway.ask, [], { count: 10 });
    expect(gateway.asked).toHaveLength(10);
    expect(first?.records.length).toBeLessThan(200);
    const whole = await listRecords(places, begin, 500, gateway.ask, [], { count: 100 });
    const rest = await listRecords(places, first?.ahead ?? begin, 500, gateway.ask, [], { count: 100 });
    const [ids1, ids2, all] = [first, rest, whole].map((page) => page?.records.map(({ id }) => id) ?? []);
    expect([...(ids1 ?? []), ...(ids2 ?? [])]).toEqual(all);
    expect(all).toHaveLength(200);
    expect(await listRecords(places, begin, 100, gatewayOf(manyShards([], 1)).ask, [], { count: 10 })).not.toBeNull();
  });

  it("says which groups a page is of, and estimates how many records there are", async () => {
    const gateway = gatewayOf(
      manyShards(
        Array.from({ length: SHARDS }, (_, shard) => shard),
        1,
      ),
    );
    const first = await pageAt(gateway, null, 10);
    expect(first).toMatchObject({
      parts: { first: 1, last: 1, count: 3 },
      total: { count: 256 * 3, isExact: false },
      previous: null,
    });
    const whole = await pageAt(gateway, null, 900);
    expect(whole).toMatchObject({
      parts: { first: 1, last: 3, count: 3 },
      total: { count: SHARDS, isExact: true },
      cursor: null,
    });
  });

  it("refuses a group that there is not", async () => {
    const gateway = gatewayOf(manyShards([], 1));
    for (const cursor of ["after~~3", "after~1~0~~~3", "after~~x", "after"]) {
      expect(await listInGroups(gateway.places, cursor, 5, gateway.ask)).toBeNull();
    }
    for (const cursor of ["after~~2", "before~~0", "after~1~0~~~1"]) {
      expect(await listInGroups(gateway.places, cursor, 5, gateway.ask)).not.toBeNull();
    }
  });
});
