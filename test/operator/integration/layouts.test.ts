// What operators are told of the layouts, from what the shards have said: how far a change is, and when a previous layout may go.

import { describe, expect, it } from "vitest";
import { type Layout, layoutTitle } from "../../../src/kernel/config/layout.ts";
import { MAX_HELD } from "../../../src/kernel/record/held-rows.ts";
import { epochMs } from "../../../src/kernel/record/units.ts";
import type { ShardAnswer } from "../../../src/operator/ask-shards.ts";
import {
  type CountedObjects,
  type LayoutSummary,
  leftCounts,
  summarizeLayouts,
} from "../../../src/operator/layouts.ts";
import type { ConfiguredLayout } from "../../../src/operator/shards.ts";
import type { ShardCounts, ClosedState } from "../../../src/kernel/object/operator-calls.ts";

const NONE = {
  waiting: 0,
  oldestWaitingMs: 0,
  placesTaken: 0,
  inFlight: 0,
  oldestMs: 0,
  oldestUnknownMs: 0,
  failed: 0,
  unknown: 0,
  atLeast: [],
  bytes: 4096,
} as const;

function layoutOf(shards: Layout["shards"]): Layout {
  return { shards, jurisdiction: null, locationHint: null };
}

function configured(shards: Layout["shards"], next: Layout["shards"] | null = null): ConfiguredLayout {
  const layout = layoutOf(shards);
  return { title: layoutTitle(layout), layout, next: next === null ? null : layoutOf(next), routes: ["POST /a"] };
}

function open(counts: Partial<ShardCounts> = {}): ShardCounts {
  return { ...NONE, closed: null, lastExpiresAt: null, ...counts };
}

function closedFor(
  next: Layout["shards"],
  records: number,
  expires: number | null = null,
  more: Partial<ClosedState> = {},
): ShardCounts {
  const holds = records === 0 ? [] : ([{ what: "records", count: records }] as const);
  const left = holds.length === 0 ? { since: 1, routes: [], dayRequests: 0 } : null;
  const closed = { next: layoutOf(next), at: epochMs(1), holds, left, ...more };
  return { ...NONE, closed, lastExpiresAt: expires === null ? null : epochMs(expires) };
}

/** The objects of a layout; `null` did not answer. */
function asked(layout: string, ...all: readonly (ShardCounts | null)[]): readonly ShardAnswer<ShardCounts>[] {
  return all.map((counts, number) => ({ shard: `shard-${number}-of-${layout}`, layout, answer: counts }));
}

function summaryOf(
  title: string,
  layouts: readonly ConfiguredLayout[],
  ...shards: readonly (readonly ShardAnswer<CountedObjects>[])[]
): LayoutSummary {
  const summary = summarizeLayouts(layouts, shards.flat(), true).find(({ layout }) => layout === title);
  if (summary === undefined) throw new Error(`no ${title}`);
  return summary;
}

const CHANGE = [configured(3), configured(2, 3)];
const NEW = asked("3", open(), open(), open());

describe("a previous layout", () => {
  it("may go when every object is closed and empty", () => {
    expect(summaryOf("2", CHANGE, NEW, asked("2", closedFor(3, 0), closedFor(3, 0)))).toMatchObject({
      objects: 2,
      open: 0,
      closed: 0,
      empty: 2,
      next: "3",
      closedFor: ["3"],
      mayGo: true,
      reason: "Closed and empty: take it out of previous_shards.",
    });
  });

  it("adds up what its objects hold", () => {
    const counts = {
      ...closedFor(3, 2, 70),
      inFlight: 1,
      waiting: 4,
      failed: 2,
      unknown: 3,
      atLeast: ["failed"] as const,
    };
    expect(summaryOf("2", CHANGE, NEW, asked("2", counts, closedFor(3, 5, 90)))).toMatchObject({
      closed: 2,
      holds: [{ what: "records", count: 7 }],
      inFlight: 1,
      waiting: 4,
      failed: 2,
      unknown: 3,
      atLeast: ["failed"],
      lastExpiresAt: 90,
    });
  });

  const stays: readonly (readonly [why: string, old: readonly (ShardCounts | null)[], reason: string])[] = [
    ["an object holds records", [closedFor(3, 0), closedFor(3, 1)], "1 object still holds 1 record."],
    [
      "objects hold more than they count",
      [closedFor(3, MAX_HELD), closedFor(3, 1)],
      "2 objects still hold 101+ records.",
    ],
    [
      "an object is open, although it is empty",
      [closedFor(3, 0), open()],
      "1 object of it is open, and keys begin there: close the layout when this configuration is deployed everywhere.",
    ],
    ["an object does not answer", [closedFor(3, 0), null], "1 object did not answer: ask again."],
    [
      "an object is closed for a layout that is not listed",
      [closedFor(3, 0), closedFor(4, 0)],
      "Closed for 4, which the configuration does not list: append it to previous_shards.",
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
  ] satisfies [ClosedState["holds"], string][])(
    "has to stay while one of its objects holds %j, with no record",
    (holds, text) => {
      const other = closedFor(3, 0, null, { holds: [{ what: "events", count: 1 }] });
      const summary = summaryOf("2", CHANGE, NEW, asked("2", closedFor(3, 0, null, { holds }), other));
      expect(summary).toMatchObject({ mayGo: false });
      expect(summary.reason).toContain(text);
    },
  );

  it("has to stay while positions are left, and says what becomes of them", () => {
    const holds = [{ what: "positions", count: 2 }] as const;
    const summary = summaryOf("2", CHANGE, NEW, asked("2", closedFor(3, 0, null, { holds }), closedFor(3, 0)));
    expect(summary).toMatchObject({ closed: 1, empty: 1, mayGo: false, holds });
    expect(summary.reason).toBe(
      "1 object still holds 2 positions: without it their groups go on where their brokers say.",
    );
  });

  it("has to stay until the totals have what it has counted", () => {
    const old = asked("2", closedFor(3, 0), closedFor(3, 0));
    const [, summary] = summarizeLayouts(CHANGE, [...NEW, ...old], false);
    expect(summary).toMatchObject({ layout: "2", mayGo: false });
    expect(summary?.reason).toContain("the object with the totals did not answer");
    expect(leftCounts(CHANGE, [...NEW, ...old])).toEqual([
      { shard: "shard-0-of-2", since: 1, routes: [] },
      { shard: "shard-1-of-2", since: 1, routes: [] },
    ]);
    // Whatever still holds something is asked again.
    expect(leftCounts(CHANGE, asked("2", closedFor(3, 1), open(), null))).toEqual([]);
  });

  it("says that it holds more than is counted", () => {
    const old = asked("2", closedFor(3, 0), closedFor(3, 1, null, { holds: [{ what: "records", count: MAX_HELD }] }));
    expect(summaryOf("2", CHANGE, NEW, old).reason).toContain("1 object still holds 100+ records");
  });

  it("says what the last day loses with it", () => {
    const left = (dayRequests: number) => ({ left: { since: 1, routes: [], dayRequests } });
    const old = asked("2", closedFor(3, 0, null, left(3)), closedFor(3, 0, null, left(58)));
    expect(summaryOf("2", CHANGE, NEW, old)).toMatchObject({
      mayGo: true,
      reason: expect.stringContaining("The last 24 hours then lack 61 requests that it has answered"),
    });
  });

  it("has to stay while an older one sends its keys there", () => {
    const layouts = [configured(4), configured(2, 4), configured(3, 4)];
    const third = asked("3", closedFor(4, 0), closedFor(4, 0), closedFor(4, 0));
    expect(summaryOf("3", layouts, asked("2", closedFor(3, 1)), third)).toMatchObject({
      mayGo: false,
      reason: "Closed and empty, but objects of 2 still send requests to it: take 2 out first.",
    });
    const gone = asked("2", closedFor(3, 0), closedFor(3, 0));
    expect(summaryOf("3", layouts, gone, third)).toMatchObject({ mayGo: true });
  });

  it("has to stay until each of its objects has been asked", () => {
    const layouts = [configured(300, 200), configured(200, 300)];
    const together = { ...closedFor(300, 0), objects: 199 };
    const answer = [{ shard: "gathering-0-of-200", layout: "200", answer: together }];
    expect(summaryOf("200", layouts, answer)).toMatchObject({
      empty: 199,
      mayGo: false,
      reason: "1 object of it has not been asked yet: ask again.",
    });
    const all = [{ shard: "gathering-0-of-200", layout: "200", answer: { ...together, objects: 200 } }];
    expect(summaryOf("200", layouts, all)).toMatchObject({ empty: 200, mayGo: true });
  });

  it("with an object for each key cannot be counted", () => {
    const summary = summaryOf("per-key", [configured(3), configured("per-key", 3)], NEW);
    expect(summary).toMatchObject({ objects: null, mayGo: false });
    expect(summary.reason).toContain("cannot be counted");
  });
});

describe("a layout in force", () => {
  it("says so", () => {
    expect(summaryOf("3", CHANGE, NEW)).toMatchObject({ next: null, open: 3, mayGo: false, reason: "In force." });
  });

  it("says that it is closed for another one, after the configuration was rolled back", () => {
    expect(summaryOf("3", [configured(3)], asked("3", closedFor(6, 1), open(), open())).reason).toContain(
      "objects of it are closed for 6",
    );
  });
});
