// Messages of a queue while the gateway is killed with SIGKILL at named points, beside the same messages without the gateway. Judged are the
// journals of the broker and the origin, and the database. `npx node test/features/queues/rounds/run.ts` is the long form, at every point.

import { describe, expect, it } from "vitest";
import { checkHistory, type Violation } from "../../../guarantees/check-history.ts";
import { countRun, type RunNumbers } from "../../../guarantees/summary.ts";
import { type Consumer, type Point, runRound } from "../rounds/round.ts";

interface Judged extends RunNumbers {
  readonly violations: readonly Violation[];
  /** The reasons of the dead letters. */
  readonly reasons: readonly string[];
}

async function runAndJudge(consumer: Consumer, points: readonly Point[]): Promise<Judged> {
  const { history, killed } = await runRound({ consumer, points, kills: 1, seed: 7 });
  expect(killed).toEqual(Object.fromEntries(points.map((point) => [point, 1])));
  const reasons = history.flatMap((event) => (event.type === "dead-letter" ? [event.reason] : []));
  return { ...countRun(history), violations: checkHistory(history), reasons: [...new Set(reasons)] };
}

describe("kill -9 of a queue's consumer", () => {
  it("doubles effects without the gateway, and the checker finds them", async () => {
    const { doubled, violations } = await runAndJudge("unprotected", ["origin-acted", "decided"]);
    expect(doubled).toBeGreaterThan(0);
    expect(new Set(violations.map(({ rule }) => rule))).toContain("G6 one effect");
  });

  it('doubles none with unknown = "verify", and leaves none unknown', async () => {
    const judged = await runAndJudge("verify", ["origin-acted", "origin-asked", "decided"]);
    expect(judged).toMatchObject({ violations: [], doubled: 0, parked: 0 });
    expect(judged.effects).toBe(judged.messages);
    // None, if each rejected message was lost and then found when the origin was asked.
    expect(["", "rejected"]).toContain(judged.reasons.join(" "));
  });

  it('stores each message whose outcome is unknown with its record with unknown = "hold", and doubles no effect', async () => {
    const { violations, doubled, parked, reasons } = await runAndJudge("hold", ["origin-arrived", "letter-answered"]);
    expect({ violations, doubled, reasons }).toEqual({ violations: [], doubled: 0, reasons: ["rejected"] });
    expect(parked).toBeGreaterThan(0);
  });

  it('doubles only what was lost after the origin acted with unknown = "retry", each with a higher attempt', async () => {
    const { violations, doubled, parked, reasons } = await runAndJudge("retry", ["origin-acted", "decided"]);
    expect({ violations, parked, reasons }).toEqual({ violations: [], parked: 0, reasons: ["rejected"] });
    expect(doubled).toBeGreaterThan(0);
  });
});
