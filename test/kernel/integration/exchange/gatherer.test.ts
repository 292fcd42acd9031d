// A gathering object: which objects it asks when requests come at once, for how long, and what another instance of it knows.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ObjectGatherer } from "../../../../src/kernel/object/gatherer.ts";
import type { GatherQuestion, ShardReport } from "../../../../src/kernel/object/gathering.ts";
import type { ShardAddress } from "../../../../src/kernel/object/shard-address.ts";
import { ShardTotals } from "../../../../src/kernel/object/totals.ts";
import { REPORT } from "../../../support/integration/shard-report.ts";

const QUESTION: GatherQuestion = {
  layout: { shards: 4096, jurisdiction: "eu", locationHint: "weur" },
  from: 512,
  count: 512,
  ask: 100,
  wants: { counters: true },
};

beforeEach(() => vi.useFakeTimers({ now: 1_795_250_000_000 }));
afterEach(() => vi.useRealTimers());

class MemoryRows {
  text: string | null = null;
  get(): string | null {
    return this.text;
  }
  put(text: string): void {
    this.text = text;
  }
}

function benchOf(answer: (name: string) => Promise<ShardReport>) {
  const [gathered, totals] = [new MemoryRows(), new MemoryRows()];
  const asked: ShardAddress[] = [];
  const instance = (): ObjectGatherer =>
    new ObjectGatherer({
      rows: gathered,
      totals: new ShardTotals(totals),
      ask: (address) => {
        asked.push(address);
        return answer(address.name);
      },
    });
  return { asked, instance };
}

it("asks objects where their layout is, and others with each request, also while one is running", async () => {
  const { asked, instance } = benchOf(() => Promise.resolve(REPORT));
  const gatherer = instance();
  const answers = await Promise.all([gatherer.gather(QUESTION), gatherer.gather(QUESTION)]);
  expect(asked[0]).toEqual({ name: "shard-512-of-4096", jurisdiction: "eu", locationHint: "weur" });
  expect(new Set(asked.map(({ name }) => name)).size).toBe(200);
  expect(answers.at(-1)).toMatchObject({ never: 312, together: [{ objects: 200 }] });
});

it("another instance knows what this one was answered, and asks the next ones", async () => {
  const { asked, instance } = benchOf(() => Promise.resolve(REPORT));
  await instance().gather(QUESTION);
  vi.advanceTimersByTime(60_000);
  expect(await instance().gather({ ...QUESTION, ask: 0 })).toMatchObject({
    together: [{ objects: 100 }],
    earlier: 100,
    never: 412,
    oldestAt: 1_795_250_000_000,
  });
  await instance().gather(QUESTION);
  expect(new Set(asked.map(({ name }) => name)).size).toBe(200);
});

it("leaves out an object that does not answer within three seconds, and asks it again first", async () => {
  let isSilent = true;
  const { asked, instance } = benchOf((name) =>
    name === "shard-600-of-4096" && isSilent ? new Promise(() => undefined) : Promise.resolve(REPORT),
  );
  const gatherer = instance();
  const first = gatherer.gather({ ...QUESTION, first: [600] });
  await vi.advanceTimersByTimeAsync(3000);
  expect(await first).toMatchObject({ unreachable: [600], together: [{ objects: 99 }] });
  isSilent = false;
  const before = asked.length;
  expect(await gatherer.gather(QUESTION)).toMatchObject({ unreachable: [], together: [{ objects: 199 }] });
  expect(asked[before]?.name).toBe("shard-600-of-4096");
});

it("asks for three seconds at most, and leaves the others to the next request", async () => {
  const { asked, instance } = benchOf(() => {
    vi.setSystemTime(Date.now() + 100);
    return Promise.resolve(REPORT);
  });
  const answer = await instance().gather(QUESTION);
  expect(asked).toHaveLength(30);
  expect(answer).toMatchObject({ never: 482, together: [{ objects: 30 }] });
});

it("adds up what objects have counted, which does not fall when one is silent or its database is lost", async () => {
  const counted = (requests: number, since: number): ShardReport => {
    const times = { counts: [], sumMs: 0 };
    const route = { route: "/pay", counts: { requests: { first: requests } }, origin: times, gateway: times };
    return { ...REPORT, numbers: { ...REPORT.numbers, since, routes: [route] } };
  };
  let report: () => Promise<ShardReport> = () => Promise.resolve(counted(5, 1));
  const { instance } = benchOf(() => report());
  const sum = async (): Promise<number> => {
    const { counters } = await instance().gather({ ...QUESTION, count: 2 });
    return counters.reduce((all, { counts }) => all + (counts.requests?.["first"] ?? 0), 0);
  };
  expect(await sum()).toBe(10);
  report = () => Promise.reject(new Error("lost"));
  expect(await sum()).toBe(10);
  report = () => Promise.resolve(counted(1, 2));
  expect(await sum()).toBe(12);
});
