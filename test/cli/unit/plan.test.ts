// `onceway plan`: figures that were calculated by hand, and the command as a user runs it.

import { describe, expect, it } from "vitest";
import * as v from "valibot";
import { COUNTS } from "../../../src/cli/operation-counts.ts";
import { bytesPerRecord, firstUsage } from "../../../src/cli/plan-cost.ts";
import { type Load, type Plan, planCapacity } from "../../../src/cli/plan-capacity.ts";
import { MAX_SHARDS } from "../../../src/kernel/config/layout.ts";
import { HOUR_MS } from "../../../src/kernel/config/units.ts";
import { callOnceway } from "../../support/command-line-here.ts";
import { blockWith } from "../../support/docs.ts";

const LOAD: Load = {
  requestsPerSecond: 2000,
  replays: 0,
  spike: 2,
  originMs: 300,
  responseBytes: 4000,
  // What the sums of plan-cost.ts count, so that they can be followed by hand.
  headerBytes: 112,
  maxResponseBytes: 10_000_000,
  retentionMs: 24 * HOUR_MS,
  rememberMs: null,
};

const plan = (load: Partial<Load> = {}, shards: number | null = null): Plan =>
  planCapacity({ ...LOAD, ...load }, shards);

const names = ({ limits }: Plan): readonly string[] => limits.map(({ name }) => name);

describe("the shards", () => {
  it("carry the calls of the peak, with 60% of six at a time", () => {
    // 2,000 a second × 2 × 0.3 s = 1,200 calls; ÷ 3.6 = 333.3; the next power of two is 512.
    const { neededShards, recommendedShards, shards, isEnough, limits, waiting } = plan();
    expect({ neededShards, recommendedShards, shards, isEnough }).toEqual({
      neededShards: 334,
      recommendedShards: 512,
      shards: 512,
      isEnough: true,
    });
    // 1,200 ÷ 512 = 2.34375 of 6; 60% are used at 3.6 × 512 ÷ 0.3 ÷ 2 = 3,072 a second.
    expect(limits[0]).toMatchObject({ name: "calls", perShard: 2.343_75, limit: 6, used: 0.390_625, enough: 0.6 });
    expect(limits[0].enoughUpToRequestsPerSecond).toBeCloseTo(3072, 6);
    expect(waiting.share).toBeCloseTo(0.036, 3);
  });

  it("are too few when calls would wait all the time, although no limit is passed", () => {
    // 1,200 ÷ 200 = 6
    expect(plan({}, 200)).toMatchObject({ isEnough: false, waiting: { share: 1, meanMs: null } });
  });

  it("carry the requests of the peak, replays too, 160 a second each", () => {
    // 30,000 × 2 ÷ 160 = 375 for the requests; 3,000 × 2 × 0.02 ÷ 3.6 = 34 for the calls.
    const quick = plan({ requestsPerSecond: 30_000, replays: 0.9, originMs: 20, retentionMs: 60_000 });
    expect([quick.neededShards, quick.recommendedShards, names(quick)[0]]).toEqual([375, 512, "requests"]);
  });

  it("hold the records of a whole retention at the average load, 8 GB each", () => {
    // 1,000 × 0.9 × 86,400 × 30 = 2,332.8 million records of 683 + 4,096 bytes = 11,148 GB.
    const long = plan({ requestsPerSecond: 1000, replays: 0.1, originMs: 10, retentionMs: 30 * 24 * HOUR_MS });
    expect(long.records).toBeCloseTo(2_332_800_000, 0);
    expect([long.neededShards, names(long)[0]]).toEqual([1394, "storage"]);
  });

  it("are 64 for a small load, and judged as they are if a number is given", () => {
    expect(plan({ requestsPerSecond: 1 })).toMatchObject({ neededShards: 1, recommendedShards: 64, shards: 64 });
    expect(plan({}, 333)).toMatchObject({ shards: 333, isEnough: false, recommendedShards: 512 });
    expect(plan({}, 334)).toMatchObject({ shards: 334, isEnough: true });
  });

  it("are never recommended beyond what the setting takes", () => {
    // 65,536 × 3.6 ÷ 0.3 ÷ 2
    expect(plan({ requestsPerSecond: 393_216 }).recommendedShards).toBe(MAX_SHARDS);
    expect(plan({ requestsPerSecond: 393_222 })).toMatchObject({ recommendedShards: null, shards: 65_537 });
  });
});

describe("what a shard keeps", () => {
  it("grows with the headers as with the body, and without both is the record", () => {
    const [none, small, large] = [plan({ responseBytes: 0 }), plan(), plan({ headerBytes: 20_000 })];
    expect(small.bytesPerRecord).toBeGreaterThan(none.bytesPerRecord);
    expect(large.bytesPerRecord).toBe(plan({ responseBytes: 4000 + 20_000 - 112 }).bytesPerRecord);
  });

  it("has no body above max_response_body", () => {
    const { keepsBodies, bytesPerRecord: size } = plan({ responseBytes: 50_000_000 });
    expect([keepsBodies, size]).toEqual([false, plan({ responseBytes: 0 }).bytesPerRecord]);
    expect(plan({ responseBytes: 50_000_000, maxResponseBytes: 50_000_000 }).keepsBodies).toBe(true);
  });
});

describe("keys that are remembered", () => {
  it("cost a row more each, and the storage of a small row after their retention", () => {
    const [without, remembered] = [plan(), plan({ rememberMs: 30 * 24 * HOUR_MS })];
    expect(without.rememberedKeys).toBe(0);
    // 2,000 × 86,400 × 29
    expect(remembered.rememberedKeys).toBeCloseTo(5_011_200_000, 0);
    expect(remembered.records).toBe(without.records);
    expect(remembered.rowsPerKey - without.rowsPerKey).toBeCloseTo(1.01, 9);
    // 330 bytes: eleven rows fill a page, and three quarters of it are full.
    const rows = (4096 / (0.75 * 11)) * remembered.rememberedKeys;
    expect(remembered.month.at(-1)?.amount).toBeCloseTo((without.month.at(-1)?.amount ?? 0) + rows / 1e9, 3);
  });
});

describe("a month", () => {
  it("has the price of every operation beyond what is included, and of the plan", () => {
    const load = { requestsPerSecond: 100, replays: 0.5, spike: 1, originMs: 600, responseBytes: 100 };
    const { month, dollars, records, bytesPerRecord: size } = plan({ ...load, retentionMs: 1_000_000 }, 10);
    expect([records, size]).toEqual([50_000, 4096 / (0.75 * 7)]);
    const seconds = 2_592_000;
    const firsts = 50 * seconds;
    // An alarm for each 40 s of a shard with five first requests a second, and one.
    const alarms = 1 / 201;
    // A burst ends when nothing is under way (5 × 0.62 s on average), and nothing comes for a quarter of a second.
    const ends = Math.exp(-3.1) * Math.exp(-1.25);
    // Of ten shards, each with 5 × 0.62 s on average under way; the replays, 2 ms each; and the waits for the end of a burst.
    const active = 10 * (1 - Math.exp(-3.1)) + 50 * 0.002 + 10 * Math.exp(-3.1) * (1 - Math.exp(-1.25));
    const expected = [
      ["workerRequest", 2 * firsts, 10e6, 0.3e-6],
      ["objectRequest", firsts * (1 + alarms + 1 / 100) + firsts, 1e6, 0.15e-6],
      // Claim and answer, two for each alarm, the erasure with its share of an alarm, and counts: after a burst, and every five seconds.
      ["rowWritten", firsts * (2 + 2 * alarms + 1 + 1 / 100 + ends + (1 - ends) / 26), 50e6, 1e-6],
      ["rowRead", firsts * (14 + 2.1) + firsts * 2, 25e9, 0.001e-6],
      ["gigabyteSecond", active * 0.128 * seconds, 400_000, 12.5e-6],
      ["gigabyteMonth", (50_000 * 4096) / (0.75 * 7) / 1e9, 5, 0.2],
    ] as const;
    let sum = 5;
    for (const [at, [what, amount, included, price]] of expected.entries()) {
      const cost = Math.max(0, amount - included) * price;
      sum += cost;
      expect(month[at]).toMatchObject({ what, included });
      expect((month[at]?.amount ?? 0) / amount).toBeCloseTo(1, 9);
      expect(month[at]?.dollars).toBeCloseTo(cost, 6);
    }
    expect(month).toHaveLength(expected.length);
    expect(dollars).toBeCloseTo(sum, 6);
    expect(Math.round(dollars)).toBe(503);
  });

  it("costs the plan alone for what is included", () => {
    expect(plan({ requestsPerSecond: 0.1 }).dollars).toBe(5);
  });
});

describe("one key", () => {
  it("writes the rows that the gateway is counted to write, also for a large response", () => {
    const busy = { perSecond: 1e9, shards: 1, originSeconds: 0.1 };
    const rows = (responseBytes: number): number => firstUsage({ ...busy, responseBytes }).rowsWritten;
    const { first, firstLarge, erasedLarge, firstMebibyte, erasedMebibyte } = COUNTS;
    expect(rows(100)).toBeCloseTo(first.rowsWritten + 1 + 1 / 100, 6);
    expect(rows(4000)).toBeCloseTo(first.rowsWritten + 1 + 1 / 100, 6);
    expect(rows(20_000)).toBeCloseTo(firstLarge.rowsWritten + erasedLarge.rowsWritten + 2 / 100, 6);
    expect(rows(1 << 20)).toBeCloseTo(firstMebibyte.rowsWritten + erasedMebibyte.rowsWritten + 1, 6);
  });

  it("takes the bytes that SQLite's pages give its rows", () => {
    // Eight and four to a page that is three quarters full.
    expect([0, 400].map(bytesPerRecord)).toEqual([4096 / (0.75 * 8), 4096 / (0.75 * 4)]);
    // A page of its own; 489 bytes of it, eight of which share a page, and pages for the rest.
    expect(bytesPerRecord(3000)).toBe(4096);
    expect(bytesPerRecord(4000)).toBeCloseTo(4096 / (0.75 * 8) + 4096, 6);
    expect(bytesPerRecord(16_000)).toBeCloseTo(4096 / (0.75 * 8) + 4 * 4096, 6);
    // A whole chunk (64 pages) and another (9 pages), each with a share of a leaf.
    expect(bytesPerRecord(300_000)).toBeCloseTo(950 + 73 * 4096 + 4096 / 8 + 4096 / 3, 6);
  });
});

describe("npx onceway plan", () => {
  const ARGUMENTS = ["plan", "--rps", "2000", "--origin-ms", "300", "--response", "4kB", "--retention", "24h"];

  it("prints what src/cli/README.md shows", async () => {
    const { code, stdout, stderr } = await callOnceway(ARGUMENTS);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(blockWith("src/cli/README.md", "shards = 512"));
  });

  it("prints the same figures as JSON", async () => {
    const { code, stdout } = await callOnceway([...ARGUMENTS, "--replays", "0.1", "--spike", "3", "--json"]);
    expect(code).toBe(0);
    const printed: unknown = JSON.parse(stdout);
    expect(printed).toEqual(JSON.parse(JSON.stringify(plan({ replays: 0.1, spike: 3, headerBytes: 500 }))));
    expect(v.parse(v.object({ neededShards: v.number() }), printed).neededShards).toBe(450);
  });

  it("exits with 1 for a number of shards that is too small, and for a load that no number carries", async () => {
    const few = await callOnceway([...ARGUMENTS, "--shards", "256"]);
    const none = await callOnceway([...ARGUMENTS, "--rps", "1000000"]);
    expect([few.code, none.code]).toEqual([1, 1]);
  });
});
