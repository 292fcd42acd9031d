// Operators and the claims of a shard: which are counted as open, where each partition's position stands, and since when.

import { describe, expect, it, vi } from "vitest";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import type { ClaimAct } from "../../../../src/features/claims/claim-message.ts";
import type { SeenPosition } from "../../../../src/features/claims/object/claim-list.ts";
import { CLAIM_LOCK_MS, ClaimBench, claimAct, entryOf, type Try, tryOf } from "./claim-bench.ts";
import { freshId, started } from "../../../support/integration/records.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { callsOf } from "../../../../src/kernel/object/itty.ts";
import { CLAIM_CALLS } from "../../../../src/features/claims/object/consumer-calls.ts";

standStill(["error"]);

const ROUTE = "claims:billing";
const ALL = { route: null, after: null, limit: 100 };

async function ask(bench: ClaimBench, one: Try, act: ClaimAct, stream: string, partition: number, offset: number) {
  await bench.ask(entryOf(one, act, { position: { stream, partition, offset } }));
}

async function claimed(bench: ClaimBench, stream: string, partition: number, offset: number): Promise<Try> {
  const one = tryOf();
  await ask(bench, one, claimAct(), stream, partition, offset);
  return one;
}

async function completed(bench: ClaimBench, stream: string, partition: number, offset: number): Promise<void> {
  const one = await claimed(bench, stream, partition, offset);
  await ask(bench, one, { verb: "complete", result: null }, stream, partition, offset);
}

function positions(bench: ClaimBench, query: object = {}): Promise<readonly SeenPosition[]> {
  return callsOf(CLAIM_CALLS, bench.stub).positions({ ...ALL, ...query });
}

describe("a position", () => {
  it("is listed with the claims behind which it stands, and since when the lowest was first claimed", async () => {
    const bench = new ClaimBench("retry");
    await completed(bench, "orders", 0, 4);
    const begun = Date.now();
    const five = await claimed(bench, "orders", 0, 5);
    vi.setSystemTime(begun + 1000);
    await claimed(bench, "orders", 0, 6);
    const at = { route: ROUTE, stream: "orders", partition: 0 };
    expect(await positions(bench)).toEqual([{ ...at, next: 5, open: 2, heldSince: begun, isUnclaimed: false }]);
    // Its consumer has died, and another one fails too.
    vi.setSystemTime(begun + CLAIM_LOCK_MS + 1);
    await bench.deliverAlarm();
    await ask(bench, tryOf(five.id), claimAct(), "orders", 0, 5);
    expect(await positions(bench)).toEqual([{ ...at, next: 5, open: 2, heldSince: begun, isUnclaimed: false }]);
    expect(await callsOf(CLAIM_CALLS, bench.stub).counts()).toEqual([
      { route: ROUTE, started: 2, failed: 0, unknown: 0, atLeast: false, partitions: 1, heldSince: begun },
    ]);
  });

  it("that nothing holds back is listed without a claim, and a claim without a position where it stands", async () => {
    const bench = new ClaimBench();
    await completed(bench, "orders", 1, 9);
    await claimed(bench, "orders", 2, 3);
    const [done, waiting] = await positions(bench);
    expect(done).toMatchObject({ partition: 1, next: 10, open: 0, heldSince: null });
    expect(waiting).toMatchObject({ partition: 2, next: 3, open: 1, heldSince: Date.now() });
  });

  it("comes on one page, in order, whatever the size of the pages", async () => {
    const bench = new ClaimBench();
    const names = [
      ["b", 0],
      ["a", 10],
      ["a", 9],
      ["B", 1],
      ["a b", 2],
      ["a", 2],
    ] as const;
    for (const [at, [stream, partition]] of names.entries()) {
      if (at % 2 === 0) await completed(bench, stream, partition, at);
      else await claimed(bench, stream, partition, at);
    }
    const whole = await positions(bench);
    expect(whole.map(({ stream, partition }) => `${stream}/${partition}`)).toEqual([
      "B/1",
      "a/2",
      "a/9",
      "a/10",
      "a b/2",
      "b/0",
    ]);
    for (let limit = 1; limit <= names.length; limit += 1) {
      const read: SeenPosition[] = [];
      for (;;) {
        const page = await positions(bench, { limit, after: read.at(-1) ?? null });
        read.push(...page);
        if (page.length < limit) break;
      }
      expect(read).toEqual(whole);
    }
    expect(await positions(bench, { route: "claims:other" })).toEqual([]);
    expect(await positions(bench, { route: ROUTE })).toEqual(whole);
  });
});

describe("the claims of a group", () => {
  it("are counted by what they wait for, until they are completed, decided or gone", async () => {
    const bench = new ClaimBench();
    // A request is no claim.
    await bench.within((ledger) => {
      const label = { key: "k", route: "/pay" };
      ledger.save(freshId(), null, started(epochMs(Date.now())), { label });
    });
    const [runs, free, uncertain, done] = [tryOf(), tryOf(), tryOf(), tryOf()];
    for (const one of [runs, free, uncertain, done]) await bench.claim(one);
    await bench.release(free, "none");
    await bench.release(uncertain, "unknown");
    await bench.complete(done, 1);
    const counts = () => callsOf(CLAIM_CALLS, bench.stub).counts();
    const none = { route: ROUTE, atLeast: false, partitions: 0, heldSince: null };
    expect(await counts()).toEqual([{ ...none, started: 1, failed: 1, unknown: 1 }]);
    await bench.complete(runs, 1);
    vi.setSystemTime(Date.now() + 400 * 24 * 3_600_000);
    expect(await counts()).toEqual([]);
  });
});
