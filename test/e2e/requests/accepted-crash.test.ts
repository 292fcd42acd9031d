// Accepted requests while the gateway is killed with SIGKILL at named points. The verdict is that of the origin's journal, of the
// monitors and of the database. `npx node test/accepted/run.ts` is the long form.

import { describe, expect, it } from "vitest";
import { pointsOf, runRound, type UnknownRule } from "../../accepted/round.ts";
import type { Verdict } from "../../accepted/verdict.ts";

async function verdictOf(unknown: UnknownRule): Promise<Verdict> {
  const points = pointsOf(unknown);
  const { verdict, killed } = await runRound({ unknown, points, kills: 1 });
  expect(killed).toEqual(Object.fromEntries(points.map((point) => [point, 1])));
  expect(verdict).toMatchObject({ lost: 0, unfenced: 0, different: 0, told: 0, credentials: 0 });
  expect(verdict.results).toBeGreaterThan(0);
  return verdict;
}

describe("kill -9 of a gateway that has accepted requests", () => {
  it('ends each of them in one result with unknown = "verify", and doubles no effect', async () => {
    expect(await verdictOf("verify")).toMatchObject({ doubled: 0, inDoubt: 0 });
  });

  it('leaves those in doubt that were lost at the origin with unknown = "hold", and doubles no effect', async () => {
    const { doubled, inDoubt } = await verdictOf("hold");
    expect(doubled).toBe(0);
    expect(inDoubt).toBeGreaterThan(0);
  });

  it('doubles only what was lost after the origin acted with unknown = "retry", each with a higher attempt', async () => {
    const { doubled, inDoubt } = await verdictOf("retry");
    expect(doubled).toBeGreaterThan(0);
    expect(inDoubt).toBe(0);
  });
});
