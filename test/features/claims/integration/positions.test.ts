// Positions in a real shard: committed with the completion, and the same after any loss of the object.

import { describe, expect, it, vi } from "vitest";
import {
  afterCompletion,
  nextPosition,
  type PartitionPosition,
  type StoredPosition,
  type OffsetRange,
  withClaim,
} from "../../../../src/kernel/record/position.ts";
import { recordId } from "../../../../src/kernel/record/units.ts";
import { POSITION_CALL } from "../../../../src/features/claims/claim-message.ts";
import { CLAIM_LOCK_MS, ClaimBench, claimAct, entryOf, type Try, tryOf } from "./claim-bench.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { callsOf } from "../../../../src/kernel/object/itty.ts";
import { CLAIM_CALLS } from "../../../../src/features/claims/object/consumer-calls.ts";

standStill(["error"]);

const ORDERS = { stream: "orders", partition: 0 };

async function positionIn(bench: ClaimBench, partition = ORDERS): Promise<PartitionPosition> {
  const body = JSON.stringify({ route: "claims:billing", ...partition });
  return (await bench.stub.fetch(POSITION_CALL.url, { method: "POST", body })).json();
}

const at = (offset: number, previous: number | null = null) => ({ position: { ...ORDERS, offset, previous } });

async function claim(bench: ClaimBench, one: Try, offset: number, previous: number | null = null): Promise<string> {
  const [reply] = await bench.ask(entryOf(one, claimAct(), at(offset, previous)));
  return reply !== undefined && "state" in reply ? reply.state : "elsewhere";
}

async function end(bench: ClaimBench, one: Try, offset: number, how: "complete" | "release"): Promise<string> {
  const act =
    how === "complete"
      ? ({ verb: "complete", result: null } as const)
      : ({ verb: "release", effect: "none", reason: "x" } as const);
  const [reply] = await bench.ask(entryOf(one, act, at(offset)));
  return reply !== undefined && "state" in reply ? reply.state : "elsewhere";
}

describe("a position", () => {
  it("waits for the lowest open offset, and is what a new instance finds", async () => {
    const bench = new ClaimBench();
    const [five, six, seven] = [tryOf(), tryOf(), tryOf()];
    expect(await positionIn(bench)).toEqual({ next: null, isHeld: false });
    await claim(bench, five, 5);
    await claim(bench, six, 6);
    await claim(bench, seven, 7);
    expect(await positionIn(bench)).toEqual({ next: 5, isHeld: true });
    await end(bench, seven, 7, "complete");
    await bench.lose();
    expect(await positionIn(bench)).toEqual({ next: 5, isHeld: true });
    await end(bench, five, 5, "complete");
    expect(await positionIn(bench)).toEqual({ next: 6, isHeld: true });
    await bench.evict();
    await end(bench, six, 6, "complete");
    expect(await positionIn(bench)).toEqual({ next: 8, isHeld: false });
    await claim(bench, tryOf(), 8);
    expect(await positionIn(bench)).toEqual({ next: 8, isHeld: true });
    expect(await positionIn(bench, { stream: "orders", partition: 1 })).toEqual({ next: null, isHeld: false });
  });

  it("waits for a lost claim until it is completed or gone, and does not move for a superseded completion", async () => {
    const bench = new ClaimBench("retry");
    const [one, two] = [tryOf(), tryOf()];
    const again = tryOf(one.id);
    await claim(bench, one, 1);
    await claim(bench, two, 2);
    await end(bench, two, 2, "complete");
    vi.setSystemTime(Date.now() + CLAIM_LOCK_MS);
    await bench.deliverAlarm();
    expect(await positionIn(bench)).toEqual({ next: 1, isHeld: true });
    await claim(bench, again, 1);
    expect(await end(bench, one, 1, "complete")).toBe("superseded");
    expect(await positionIn(bench)).toEqual({ next: 1, isHeld: true });
    await end(bench, again, 1, "complete");
    expect(await positionIn(bench)).toEqual({ next: 3, isHeld: false });
  });

  it("waits for a message whose claim never came, whatever instance is asked, until it is claimed", async () => {
    const bench = new ClaimBench();
    const [five, six, seven] = [tryOf(), tryOf(), tryOf()];
    await claim(bench, six, 6, 5);
    expect(await positionIn(bench)).toEqual({ next: 5, isHeld: true });
    await claim(bench, seven, 7, 6);
    await end(bench, six, 6, "complete");
    await end(bench, seven, 7, "complete");
    expect(await positionIn(bench)).toEqual({ next: 5, isHeld: true });
    await bench.evict();
    expect(await positionIn(bench)).toEqual({ next: 5, isHeld: true });
    // Read again, it fills no gap.
    expect(await claim(bench, tryOf(seven.id), 7, 6)).toBe("completed");
    expect(await positionIn(bench)).toEqual({ next: 5, isHeld: true });
    expect(await claim(bench, five, 5, 4)).toBe("granted");
    await bench.lose();
    expect(await end(bench, five, 5, "complete")).toBe("settled");
    expect(await positionIn(bench)).toEqual({ next: 8, isHeld: false });
  });

  it("that an operator has set back moves again as the group reads again, and one set forward passes what was never claimed", async () => {
    const bench = new ClaimBench();
    const tries = [1, 2, 3].map(() => tryOf());
    for (const [index, one] of tries.entries()) {
      await claim(bench, one, index + 1, index === 0 ? null : index);
      await end(bench, one, index + 1, "complete");
    }
    const set = async (next: number): Promise<boolean> =>
      callsOf(CLAIM_CALLS, bench.stub).setPosition({ route: "claims:billing", ...ORDERS, next, ifKnown: false });
    expect(await set(2)).toBe(true);
    expect(await positionIn(bench)).toMatchObject({ next: 2 });
    const again = [tryOf(tries[1]?.id), tryOf(tries[2]?.id)] as const;
    expect(await claim(bench, again[0], 2, 1)).toBe("completed");
    expect(await positionIn(bench)).toMatchObject({ next: 3 });
    await bench.evict();
    expect(await claim(bench, again[1], 3, 2)).toBe("completed");
    expect(await positionIn(bench)).toEqual({ next: 4, isHeld: false });
    const later = tryOf();
    await claim(bench, later, 6, 5);
    await end(bench, later, 6, "complete");
    expect(await positionIn(bench)).toEqual({ next: 4, isHeld: true });
    await set(6);
    expect(await positionIn(bench)).toEqual({ next: 7, isHeld: false });
  });

  it("waits for a claim that is granted in one message with those that are completed, wherever it stands in it", async () => {
    const whose = { by: "operator", reason: "x" };
    for (const order of [
      [1, 2, 3],
      [3, 2, 1],
    ]) {
      const bench = new ClaimBench();
      const ids = [0, 1, 2, 3].map(() => recordId(crypto.randomUUID()));
      const again = (offset: number): Try => tryOf(ids[offset]);
      for (const offset of [1, 2, 3]) {
        const one = again(offset);
        await claim(bench, one, offset);
        if (offset === 3) await end(bench, one, offset, "complete");
        else await bench.release(one, "unknown");
      }
      vi.setSystemTime(Date.now() + CLAIM_LOCK_MS);
      const changes = [
        await bench.change(again(1).id, { type: "resolve", status: 200, ...whose }),
        await bench.change(again(2).id, { type: "forget", ...whose }),
      ];
      expect(changes).toMatchObject([{ why: null }, { why: null }]);
      const replies = await bench.ask(...order.map((offset) => entryOf(again(offset), claimAct(), at(offset))));
      expect(replies).toMatchObject([{ state: "completed" }, { state: "granted" }, { state: "completed" }]);
      expect(await positionIn(bench)).toEqual({ next: 2, isHeld: true });
      await bench.evict();
      expect(await positionIn(bench)).toEqual({ next: 2, isHeld: true });
    }
  });

  it("is the model's after any claims, ends, evictions and losses", async () => {
    const bench = new ClaimBench();
    const open = new Map<number, Try>();
    const completed = new Set<number>();
    let stored: StoredPosition | null = null;
    let claimed: readonly OffsetRange[] = [];
    let seed = 16;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const lowest = (): number | null => (open.size === 0 ? null : Math.min(...open.keys()));
    for (let step = 0; step < 300; step += 1) {
      const offset = Math.floor(step / 8) + random(6);
      const one = open.get(offset);
      const kind = random(20);
      if (kind === 0) await bench.evict();
      else if (one === undefined && !completed.has(offset)) {
        const fresh = tryOf();
        expect(await claim(bench, fresh, offset)).toBe("granted");
        open.set(offset, fresh);
        claimed = withClaim(claimed, { offset });
      } else if (one !== undefined && kind > 4) {
        expect(await end(bench, one, offset, "complete")).toBe("settled");
        open.delete(offset);
        completed.add(offset);
        stored = afterCompletion(stored, claimed, offset, lowest());
      }
      expect((await positionIn(bench)).next).toBe(nextPosition(stored, claimed, lowest()));
    }
    expect(completed.size).toBeGreaterThan(30);
  });
});
