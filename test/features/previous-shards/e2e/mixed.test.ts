// A short run of `npx node test/features/previous-shards/rounds/run.ts`: deployments of four layouts side by side, killed at every named point, and no key is
// forgotten. Each fault of test/features/previous-shards/rounds/planted.ts is found by the same checker.

import { expect, it } from "vitest";
import { judgedRound, killsAtEach, roundDimensions } from "../rounds/judged-round.ts";
import { FAULTS } from "../rounds/planted.ts";
import { POINTS } from "../rounds/points.ts";
import { rigEntry } from "../rounds/sources.ts";

const COMMON = { clients: 32, dimensions: roundDimensions() };

it("forgets no key while layouts follow each other, are closed and rolled back", { timeout: 600_000 }, async () => {
  const { violations, summary, killed, closed } = await judgedRound({
    seed: "four-layouts",
    requests: 2_000,
    kills: killsAtEach(4),
    plan: "listed",
    main: await rigEntry(),
    ...COMMON,
  });
  if (violations.length > 0) console.error(summary);
  expect(violations).toEqual([]);
  expect(POINTS.filter((point) => killed[point] === 0)).toEqual([]);
  expect(closed).toBeGreaterThan(0);
});

it.each(FAULTS)("finds: $name", { timeout: 240_000 }, async ({ patches, plan, killsAt }) => {
  const kills = killsAtEach(4, killsAt);
  const options = { seed: "planted", requests: 1_200, kills, plan, ...COMMON };
  const { violations } = await judgedRound({ ...options, main: await rigEntry(patches) });
  // A forgotten key is a second attempt at the origin, which breaks one of these or more, by what became of the first.
  expect(violations.map(({ rule }) => rule.slice(0, 2)).filter((rule) => /^G[236]$/.test(rule))).not.toEqual([]);
});
