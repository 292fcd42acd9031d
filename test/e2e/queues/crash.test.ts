// Messages of a queue while the gateway is killed with SIGKILL at named points, beside the same messages without the gateway. The
// verdict is that of the broker's and the origin's journals. `npx node test/queues/run.ts` is the long form, at every point.

import { describe, expect, it } from "vitest";
import { type Consumer, type Point, runRound } from "../../queues/round.ts";
import type { Verdict } from "../../queues/verdict.ts";

async function verdictOf(consumer: Consumer, points: readonly Point[]): Promise<Verdict> {
  const { verdict, killed } = await runRound({ consumer, points, kills: 1, seed: 7 });
  expect(killed).toEqual(Object.fromEntries(points.map((point) => [point, 1])));
  // Every message was acknowledged in the end, after an effect or a dead letter, and no delivery was left undecided.
  expect(verdict).toMatchObject({ lost: 0, undecided: 0, unfenced: 0 });
  return verdict;
}

describe("kill -9 of a queue's consumer", () => {
  it("doubles effects without the gateway", async () => {
    const { doubled } = await verdictOf("unprotected", ["origin-acted", "decided"]);
    expect(doubled).toBeGreaterThan(0);
  });

  it('doubles none with unknown = "verify", and leaves none in doubt', async () => {
    const verdict = await verdictOf("verify", ["origin-acted", "origin-asked", "decided"]);
    expect(verdict).toMatchObject({ doubled: 0, parked: 0 });
    expect(verdict.effects).toBe(verdict.messages);
    // None, if each rejected message was lost and then found when the origin was asked.
    expect(["", "rejected"]).toContain(Object.keys(verdict.letters).join(" "));
  });

  it('stores each message in doubt with its record with unknown = "hold", and doubles no effect', async () => {
    const verdict = await verdictOf("hold", ["origin-arrived", "letter-answered"]);
    expect(verdict.doubled).toBe(0);
    expect(verdict.parked).toBeGreaterThan(0);
    expect(Object.keys(verdict.letters)).toEqual(["rejected"]);
  });

  it('doubles only what was lost after the origin acted with unknown = "retry", each with a higher attempt', async () => {
    const { doubled, letters, parked } = await verdictOf("retry", ["origin-acted", "decided"]);
    expect(doubled).toBeGreaterThan(0);
    expect(parked).toBe(0);
    expect(Object.keys(letters)).toEqual(["rejected"]);
  });
});
