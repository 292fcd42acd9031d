// Accepted requests while the gateway is killed with SIGKILL at named points: at each with `verify`, and where the rules differ with the others. Judged is the history that the clients, the origin and the
// database write. `npx node test/features/accepted/rounds/run.ts` is the long form.

import { describe, expect, it } from "vitest";
import { type Point, pointsOf, runRound, type UnknownRule } from "../rounds/round.ts";
import { checkHistory } from "../../../guarantees/check-history.ts";
import { countRun } from "../../../guarantees/summary.ts";

/** How many keys have two effects, after a round without violations; and how many requests ended unknown, and with a result. */
async function runAndCount(unknown: UnknownRule, points: readonly Point[]) {
  const { history, killed } = await runRound({ unknown, points, kills: 1 });
  expect(killed).toEqual(Object.fromEntries(points.map((point) => [point, 1])));
  expect(checkHistory(history)).toEqual([]);
  const ends = history.flatMap((event) => (event.type === "exchange" && event.calm ? [event.ending] : []));
  const codes = ends.map((ending) => (ending.kind === "answer" ? ending.code : "none"));
  const undecided = codes.filter((code) => code === "outcome-unknown").length;
  const results = codes.filter((code) => code === null).length;
  expect(results).toBeGreaterThan(0);
  expect(results + undecided).toBe(codes.length);
  return { doubled: countRun(history).doubled, undecided };
}

describe("kill -9 of a gateway that has accepted requests", () => {
  it('ends each of them in one result with unknown = "verify", and doubles no effect', async () => {
    expect(await runAndCount("verify", pointsOf("verify"))).toEqual({ doubled: 0, undecided: 0 });
  });

  it('leaves those undecided that were lost at the origin with unknown = "hold", and doubles no effect', async () => {
    const { doubled, undecided } = await runAndCount("hold", ["origin-arrived", "origin-acted"]);
    expect(doubled).toBe(0);
    expect(undecided).toBeGreaterThan(0);
  });

  it('doubles only what was lost after the origin acted with unknown = "retry", each with a higher attempt', async () => {
    const { doubled, undecided } = await runAndCount("retry", ["origin-acted"]);
    expect(doubled).toBeGreaterThan(0);
    expect(undecided).toBe(0);
  });
});
