// The list over all shards: every record once, however they are spread over shards, in pages of any size.

import { describe, expect, it } from "vitest";
import { type Ask, listRecords } from "../../../src/operator/list.ts";
import { recordId } from "../../../src/core/units.ts";
import { started } from "../support/records.ts";

const SECTIONS = ["open", "completed"] as const;

/** Shards with so many records in each section. They record in which order they were asked, and how many at once. */
function shards(counts: readonly (readonly [open: number, completed: number])[], limit: number) {
  const asked: string[] = [];
  const now = { running: 0, most: 0 };
  const places = counts.map((_count, number) => ({
    name: `shard-${number}-of-${counts.length}`,
    jurisdiction: null,
    locationHint: null,
    layout: String(counts.length),
  }));
  const record = started();
  const ask: Ask = async (place, { section, after }) => {
    asked.push(`${section} ${place.name}`);
    now.most = Math.max(now.most, ++now.running);
    await Promise.resolve();
    now.running -= 1;
    const [open = 0, completed = 0] = counts[places.findIndex(({ name }) => name === place.name)] ?? [];
    const begin = after === null ? 0 : Number(after.split(".")[2]) + 1;
    const end = Math.min(begin + limit, section === "open" ? open : completed);
    const records = Array.from({ length: Math.max(0, end - begin) }, (_, index) => {
      const id = recordId(`${section} ${place.name} ${begin + index}`);
      return { id, key: "", route: "", record, at: `bucket.0.${begin + index}` };
    });
    return { records, next: records.length === limit ? (records.at(-1)?.at ?? null) : null };
  };
  return { places, ask, asked, now };
}

async function readAll(counts: readonly (readonly [number, number])[], limit: number): Promise<readonly string[]> {
  const { places, ask } = shards(counts, limit);
  const ids: string[] = [];
  for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
    const listed = await listRecords(places, SECTIONS, cursor, limit, ask);
    if (listed === null || pages > 1000) throw new Error("the list does not end");
    expect(listed.records.length).toBeLessThanOrEqual(limit);
    ids.push(...listed.records.map(({ id }) => id));
    ({ cursor } = listed);
  }
  return ids;
}

describe("the list over all shards", () => {
  it.each([
    [[]],
    [[[0, 0]]],
    [[[3, 5]]],
    [
      [
        [0, 0],
        [0, 1],
        [2, 0],
        [0, 0],
        [1, 3],
        [5, 0],
        [0, 0],
      ],
    ],
    [
      [
        [2, 2],
        [2, 2],
        [2, 2],
        [2, 2],
        [2, 2],
        [2, 2],
      ],
    ],
    [Array.from({ length: 64 }, (_, number) => [number % 3, (number * 7) % 5] as const)],
  ] as const)("shows every record once: %#", async (counts: readonly (readonly [number, number])[]) => {
    const whole = SECTIONS.flatMap((section, column) =>
      counts.flatMap((count, shard) =>
        Array.from({ length: count[column] ?? 0 }, (_, n) => `${section} shard-${shard}-of-${counts.length} ${n}`),
      ),
    );
    for (const limit of [1, 2, 3, 4, 7, 500]) expect(await readAll(counts, limit)).toEqual(whole);
  });

  it("continues without an unreachable shard, names it, and does not ask it again", async () => {
    const { places, ask, asked } = shards(
      Array.from({ length: 6 }, () => [1, 1] as const),
      500,
    );
    const deaf: Ask = async (place, part) => {
      const page = await ask(place, part);
      return place.name === "shard-2-of-6" ? null : page;
    };
    const listed = await listRecords(places, SECTIONS, null, 500, deaf, ["shard-4-of-6"]);
    expect(listed?.unreachable).toEqual(["shard-4-of-6", "shard-2-of-6"]);
    expect(listed?.records.map(({ id }) => id)).toEqual(
      SECTIONS.flatMap((section) => [0, 1, 3, 5].map((shard) => `${section} shard-${shard}-of-6 0`)),
    );
    expect(asked.filter((name) => name.endsWith("shard-2-of-6"))).toEqual(["open shard-2-of-6"]);
    expect(asked.filter((name) => name.endsWith("shard-4-of-6"))).toEqual([]);
  });

  it("asks one shard if that is enough, and never more than sixteen at a time", async () => {
    const full = shards(
      Array.from({ length: 64 }, () => [9, 9] as const),
      9,
    );
    await listRecords(full.places, SECTIONS, null, 9, full.ask);
    expect(full.asked).toEqual(["open shard-0-of-64"]);
    const empty = shards(
      Array.from({ length: 64 }, () => [0, 0] as const),
      9,
    );
    expect(await listRecords(empty.places, SECTIONS, null, 9, empty.ask)).toEqual({
      records: [],
      cursor: null,
      unreachable: [],
    });
    expect(new Set(empty.asked).size).toBe(128);
    expect(empty.now.most).toBe(16);
  });
});
