// What operators are told of the layouts, from what the shards have said: how far a change is, and when an older layout may go.

import { describe, expect, it } from "vitest";
import { type Layout, layoutTitle } from "../../../src/kernel/config/layout.ts";
import { MAX_HELD } from "../../../src/kernel/record/held-keys.ts";
import { epochMs } from "../../../src/kernel/record/units.ts";
import type { ShardAnswer } from "../../../src/operator/ask-shards.ts";
import { type LayoutSummary, leftCounts, summarizeLayouts } from "../../../src/operator/layouts.ts";
import type { ConfiguredLayout } from "../../../src/operator/shards.ts";
import type { Counts, SealState } from "../../../src/kernel/object/operator-calls.ts";

const NONE = {
  waiting: 0,
  oldestWaitingMs: 0,
  placesTaken: 0,
  inFlight: 0,
  failed: 0,
  unknown: 0,
  atLeast: [],
  bytes: 4096,
} as const;

function layoutOf(shards: Layout["shards"]): Layout {
  return { shards, jurisdiction: null, locationHint: null };
}

function configured(shards: Layout["shards"], left: Layout["shards"] | null = null): ConfiguredLayout {
  const layout = layoutOf(shards);
  return { title: layoutTitle(layout), layout, left: left === null ? null : layoutOf(left), routes: ["POST /a"] };
}

function open(counts: Partial<Counts> = {}, elders: readonly Layout[] = []): Counts {
  return { ...NONE, change: { seal: null, lastExpiresAt: null, elders }, ...counts };
}

function sealedFor(
  next: Layout["shards"],
  keys: number | null,
  expires: number | null = null,
  more: Partial<SealState> = {},
): Counts {
  const holds = keys === 0 ? [] : ([{ what: "records", count: keys ?? 257 }] as const);
  const left = holds.length === 0 ? { since: 1, routes: [], dayRequests: 0 } : null;
  const seal = { next: layoutOf(next), at: epochMs(1), keys, holds, left, ...more };
  return { ...NONE, change: { seal, lastExpiresAt: expires === null ? null : epochMs(expires), elders: [] } };
}

/** The objects of a layout; `null` did not answer. */
function asked(layout: string, ...all: readonly (Counts | null)[]): readonly ShardAnswer<Counts>[] {
  return all.map((counts, number) => ({ shard: `shard-${number}-of-${layout}`, layout, answer: counts }));
}

function summaryOf(
  title: string,
  layouts: readonly ConfiguredLayout[],
  ...shards: readonly (readonly ShardAnswer<Counts>[])[]
): LayoutSummary {
  const summary = summarizeLayouts(layouts, shards.flat(), true).find(({ layout }) => layout === title);
  if (summary === undefined) throw new Error(`no ${title}`);
  return summary;
}

const CHANGE = [configured(3), configured(2, 3)];
const NEW = asked("3", open(), open(), open());

describe("an older layout", () => {
  it("may go when every object is sealed and empty", () => {
    expect(summaryOf("2", CHANGE, NEW, asked("2", sealedFor(3, 0), sealedFor(3, 0)))).toMatchObject({
      objects: 2,
      open: 0,
      sealed: 0,
      empty: 2,
      keys: 0,
      left: "3",
      next: ["3"],
      mayGo: true,
      reason: "Sealed and empty: take it out of previous_shards.",
    });
  });

  it("adds up what its objects hold", () => {
    const counts = {
      ...sealedFor(3, 2, 70),
      inFlight: 1,
      waiting: 4,
      failed: 2,
      unknown: 3,
      atLeast: ["failed"] as const,
    };
    expect(summaryOf("2", CHANGE, NEW, asked("2", counts, sealedFor(3, 5, 90)))).toMatchObject({
      sealed: 2,
      keys: 7,
      inFlight: 1,
      // The other one runs code that does not count these.
      waiting: 4,
      failed: 2,
      unknown: 3,
      atLeast: ["failed"],
      lastExpiresAt: 90,
    });
    expect(summaryOf("2", CHANGE, NEW, asked("2", counts, sealedFor(3, null)))).toMatchObject({ keys: null });
  });

  const stays: readonly (readonly [why: string, old: readonly (Counts | null)[], reason: string])[] = [
    ["an object holds records", [sealedFor(3, 0), sealedFor(3, 1)], "1 object still holds 1 record."],
    ["objects hold more than they list", [sealedFor(3, null), sealedFor(3, 1)], "2 objects still hold 258+ records."],
    [
      "an object is open, although it is empty",
      [sealedFor(3, 0), open()],
      "1 object of it is still open and may take new keys: close the layout, or wait.",
    ],
    ["an object does not answer", [sealedFor(3, 0), null], "1 object did not answer: ask again."],
    [
      "an object is sealed for a layout that is not listed",
      [sealedFor(3, 0), sealedFor(4, 0)],
      "Left for 4, which the configuration does not list: append it to previous_shards.",
    ],
    [
      "an object follows the layout that follows it",
      [sealedFor(3, 0), open({}, [layoutOf(3)])],
      "Some of its objects sent their keys on to 3, and some of 3 to this one: write another number for shards, with both in previous_shards.",
    ],
  ];
  it.each(stays)("has to stay while %s", (_why, old, reason) => {
    const summary = summaryOf("2", CHANGE, NEW, asked("2", ...old));
    expect(summary.mayGo).toBe(false);
    expect(summary.reason).toContain(reason);
  });

  it.each([
    [[{ what: "events", count: 6 }], "2 objects still hold 7 events."],
    [
      [
        { what: "records", count: 2 },
        { what: "bodies", count: 1 },
        { what: "alerts", count: 3 },
      ],
      "2 records, 1 body, 1 event and 3 alerts.",
    ],
    [[], "1 object still holds 1 event."],
  ] satisfies [SealState["holds"], string][])(
    "has to stay while one of its objects holds %j, with no record",
    (holds, text) => {
      const other = sealedFor(3, 0, null, { holds: [{ what: "events", count: 1 }] });
      const summary = summaryOf("2", CHANGE, NEW, asked("2", sealedFor(3, 0, null, { holds }), other));
      expect(summary).toMatchObject({ mayGo: false, keys: 0 });
      expect(summary.reason).toContain(text);
    },
  );

  it("has to stay while positions are left, and says what becomes of them", () => {
    const holds = [{ what: "positions", count: 2 }] as const;
    const summary = summaryOf("2", CHANGE, NEW, asked("2", sealedFor(3, 0, null, { holds }), sealedFor(3, 0)));
    expect(summary).toMatchObject({ sealed: 1, empty: 1, mayGo: false, holds });
    expect(summary.reason).toBe(
      "1 object still holds 2 positions: without it their groups go on where their brokers say.",
    );
  });

  it("has to stay until the totals have what it has counted", () => {
    const old = asked("2", sealedFor(3, 0), sealedFor(3, 0));
    const [, summary] = summarizeLayouts(CHANGE, [...NEW, ...old], false);
    expect(summary).toMatchObject({ layout: "2", mayGo: false });
    expect(summary?.reason).toContain("the object with the totals did not answer");
    expect(leftCounts(CHANGE, [...NEW, ...old])).toEqual([
      { shard: "shard-0-of-2", since: 1, routes: [] },
      { shard: "shard-1-of-2", since: 1, routes: [] },
    ]);
    // Whatever still holds something is asked again.
    expect(leftCounts(CHANGE, asked("2", sealedFor(3, 1), open(), null))).toEqual([]);
  });

  it("says that it holds more than is counted", () => {
    const old = asked("2", sealedFor(3, 0), sealedFor(3, 1, null, { holds: [{ what: "records", count: MAX_HELD }] }));
    expect(summaryOf("2", CHANGE, NEW, old).reason).toContain("1 object still holds 100+ records");
  });

  it("says what the last day loses with it", () => {
    const left = (dayRequests: number) => ({ left: { since: 1, routes: [], dayRequests } });
    const old = asked("2", sealedFor(3, 0, null, left(3)), sealedFor(3, 0, null, left(58)));
    expect(summaryOf("2", CHANGE, NEW, old)).toMatchObject({
      mayGo: true,
      reason: expect.stringContaining("The last 24 hours then lack 61 requests that it has answered"),
    });
  });

  it("has to stay while an older one sends its keys there", () => {
    const layouts = [configured(4), configured(2, 4), configured(3, 4)];
    const third = asked("3", sealedFor(4, 0));
    expect(summaryOf("3", layouts, asked("2", sealedFor(3, 1)), third)).toMatchObject({
      mayGo: false,
      reason: "Sealed and empty, but objects of 2 still send requests to it: take 2 out first.",
    });
    expect(summaryOf("3", layouts, asked("2", sealedFor(3, 0)), third)).toMatchObject({ mayGo: true });
  });

  it("with an object for each key cannot be counted", () => {
    const summary = summaryOf("per-key", [configured(3), configured("per-key", 3)], NEW);
    expect(summary).toMatchObject({ objects: null, mayGo: false });
    expect(summary.reason).toContain("cannot be counted");
  });
});

describe("a layout in force", () => {
  it("says so, and which older layouts its objects know", () => {
    const knowing = asked("3", open({}, [layoutOf(2), layoutOf(1)]), open({}, [layoutOf(2)]), open());
    expect(summaryOf("3", CHANGE, knowing)).toMatchObject({
      left: null,
      open: 3,
      elders: ["2", "1"],
      mayGo: false,
      reason: "In force: new keys begin here.",
    });
  });

  it("says when it was left for another one, after the configuration was rolled back", () => {
    expect(summaryOf("3", [configured(3)], asked("3", sealedFor(6, 1), open(), open())).reason).toContain(
      "objects of it were left for 6",
    );
  });
});
