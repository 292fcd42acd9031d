// What a gathering object asks next, what it remembers, and what it answers.

import { describe, expect, it } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import type { HourOfShard } from "../../../../src/kernel/object/kept-counts.ts";
import type { RouteNumbers } from "../../../../src/kernel/traffic/route-counters.ts";
import type { ClosedState, ShardNumbers } from "../../../../src/kernel/object/operator-calls.ts";
import { IDLE } from "../../../support/integration/shard-report.ts";
import {
  gatherAnswer,
  type GatheredShard,
  type GatherQuestion,
  hoursTogether,
  nextToAsk,
  withReport,
} from "../../../../src/kernel/object/gathering.ts";

const HOUR_MS = 3_600_000;
const NOW = 500_000 * HOUR_MS + 1_800_000;
const LAYOUT = { shards: 4096, jurisdiction: null, locationHint: null } as const;

function known(shard: number, triedAt: number, numbers: Partial<ShardNumbers> | null = {}): GatheredShard {
  const report = numbers === null ? null : { numbers: { ...IDLE, ...numbers }, hours: [] };
  return withReport(undefined, shard, triedAt, report).known;
}

function question(more: Partial<GatherQuestion> = {}): GatherQuestion {
  return { layout: LAYOUT, from: 512, count: 6, ask: 3, wants: {}, ...more };
}

function mapOf(...shards: readonly GatheredShard[]): ReadonlyMap<number, GatheredShard> {
  return new Map(shards.map((one) => [one.shard, one]));
}

describe("a gathering object asks", () => {
  it("those first that nobody has asked, then those that were asked longest ago", () => {
    const some = mapOf(known(512, 30), known(513, 10), known(514, 20), known(515, 40));
    expect(nextToAsk(some, question({ ask: 4 }))).toEqual([516, 517, 513, 514]);
    expect(nextToAsk(some, question({ ask: 99 }))).toHaveLength(6);
    expect(nextToAsk(some, question({ ask: 0 }))).toEqual([]);
  });

  it("those before that an operator's request names, and only its own", () => {
    expect(nextToAsk(mapOf(known(515, 40)), question({ first: [515, 9, 600] }))).toEqual([515, 512, 513]);
  });

  it("those again that did not answer, but not them alone", () => {
    const silent = [512, 513, 514, 515].map((shard) => known(shard, 40, null));
    expect(nextToAsk(mapOf(...silent), question({ ask: 4 }))).toEqual([512, 513, 516, 517]);
  });
});

describe("its answer", () => {
  const own = { from: 512, count: 6, wants: {} } as const;

  it("adds up what those have that answered, with the largest of their ages", () => {
    const shards = [
      known(512, NOW, {
        unknown: 2,
        failed: 10_000,
        atLeast: ["failed"],
        oldestUnknownMs: 5000,
        isUnwritten: true,
        places: { IAD: 1 },
      }),
      known(513, NOW - 9000, {
        places: { IAD: 1 },
        unknown: 3,
        inFlight: 1,
        oldestUnknownMs: 9000,
        oldestMs: 70,
        bytes: 9000,
      }),
      known(514, NOW, null),
      // Of another number of shards.
      known(2000, NOW, { unknown: 100 }),
    ];
    const answer = gatherAnswer({ shards, hours: [] }, own, [], NOW);
    expect(answer.together).toEqual([
      {
        objects: 2,
        inFlight: 1,
        waiting: 0,
        failed: 10_000,
        unknown: 5,
        atLeast: ["failed"],
        oldestMs: 70,
        oldestUnknownMs: 9000,
        oldestWaitingMs: 0,
        placesTaken: 0,
        callsInFlight: 1 - 1,
        overdueMs: 0,
        unwritten: 1,
        bytes: 4096 + 9000,
        largestBytes: 9000,
        closed: null,
        lastExpiresAt: null,
        places: { IAD: 2 },
      },
    ]);
    expect(answer).toMatchObject({ unreachable: [514], earlier: 1, never: 3, oldestAt: NOW - 9000 });
  });

  it("names the shards that have the oldest unknown outcomes and attempts, five of each", () => {
    const shards = Array.from({ length: 6 }, (_, at) =>
      known(512 + at, NOW, { unknown: 1, oldestUnknownMs: 1000 * (at + 1), oldestMs: at === 0 ? 10 : 0 }),
    );
    const { oldest } = gatherAnswer({ shards, hours: [] }, own, [], NOW);
    expect(oldest.map(({ shard }) => shard)).toEqual([517, 516, 515, 514, 513, 512]);
    expect(gatherAnswer({ shards: [known(512, NOW)], hours: [] }, own, [], NOW).oldest).toEqual([]);
  });

  it("keeps open, closed and empty objects apart", () => {
    const closedFor = (next: number, count: number): ClosedState => ({
      next: { ...LAYOUT, shards: next },
      at: epochMs(1),
      holds: count === 0 ? [] : [{ what: "records", count }],
      left: count === 0 ? { since: 7, routes: [], dayRequests: 4 } : null,
    });
    const shards = [
      known(512, NOW),
      known(513, NOW, { closed: closedFor(8192, 3), lastExpiresAt: epochMs(9) }),
      known(514, NOW, { closed: closedFor(8192, 4), lastExpiresAt: epochMs(8) }),
      known(515, NOW, { closed: closedFor(8192, 0) }),
      known(516, NOW, { closed: closedFor(8192, 0) }),
    ];
    const asked = { ...own, wants: { open: true } } as const;
    const answer = gatherAnswer({ shards, hours: [] }, asked, [], NOW);
    expect(answer.together.map(({ objects, closed }) => [objects, closed?.holds, closed?.left?.dayRequests])).toEqual([
      [1, undefined, undefined],
      [2, [{ what: "records", count: 7 }], undefined],
      [2, [], 8],
    ]);
    // One that was never asked may be open.
    expect(answer.open).toEqual([512, 517]);
  });

  it("has what a feature holds only if it is wanted, and only of shards that hold something", () => {
    const shards = [known(512, NOW, { features: { outbox: [{ dead: 1 }] } }), known(513, NOW)];
    const asked = { ...own, wants: { features: ["outbox", "claims"] } };
    expect(gatherAnswer({ shards, hours: [] }, asked, [], NOW).features).toEqual({
      outbox: [{ shard: 512, held: [{ dead: 1 }] }],
      claims: [],
    });
    expect(gatherAnswer({ shards, hours: [] }, own, [], NOW).features).toEqual({});
  });
});

describe("the hours", () => {
  const times = { counts: [], sumMs: 0 };
  const named = (route: string): RouteNumbers => ({ route, counts: {}, origin: times, gateway: times });
  const counted = (at: number, route: string): HourOfShard => ({ at: at * HOUR_MS, routes: [named(route)] });

  it("that are over are taken once, and the others again with each answer", () => {
    const hour = 500_000;
    const first = withReport(undefined, 1, NOW, { numbers: IDLE, hours: [counted(hour - 1, "a"), counted(hour, "b")] });
    expect(first.over).toEqual([counted(hour - 1, "a")]);
    expect(first.known).toMatchObject({ hoursFrom: hour * HOUR_MS, hours: [counted(hour, "b")] });
    const second = withReport(first.known, 1, NOW + 60_000, { numbers: IDLE, hours: [counted(hour, "b2")] });
    expect(second).toMatchObject({ over: [], known: { hours: [counted(hour, "b2")] } });
    const later = withReport(second.known, 1, NOW + HOUR_MS, { numbers: IDLE, hours: [counted(hour, "b3")] });
    expect(later).toMatchObject({ over: [counted(hour, "b3")], known: { hours: [], hoursFrom: (hour + 1) * HOUR_MS } });
  });

  it("are not over as long as a clock may be in them", () => {
    const hour = 500_000;
    const { known: one } = withReport(undefined, 1, hour * HOUR_MS + 59_000, {
      numbers: IDLE,
      hours: [counted(hour - 1, "a")],
    });
    expect(one).toMatchObject({ hoursFrom: (hour - 1) * HOUR_MS, hours: [counted(hour - 1, "a")] });
  });

  it("stay when the object does not answer", () => {
    const { known: one } = withReport(undefined, 1, NOW, { numbers: IDLE, hours: [counted(500_000, "b")] });
    expect(withReport(one, 1, NOW + 1, null)).toMatchObject({
      over: [],
      known: { hours: [counted(500_000, "b")], held: null },
    });
  });

  it("of the same hour are added up, and those before the last day are left out", () => {
    const hours = [counted(500_000, "a"), counted(500_000, "b"), counted(499_000, "c")];
    const sums = hoursTogether(hours, NOW, (routes) => routes);
    expect(sums).toEqual([{ at: 500_000 * HOUR_MS, routes: [named("a"), named("b")] }]);
  });
});
