// test/features/previous-shards/rounds/clock-scenario.ts: the clock goes back in the middle of a change of the number of shards, and nobody gets an answer
// again that had expired when its key began elsewhere.

import { expect, it } from "vitest";
import { clockGoesBack, RETENTION_MS } from "../rounds/clock-scenario.ts";
import { CLOCK_FAULT } from "../rounds/planted.ts";
import { rigEntry } from "../rounds/sources.ts";
import { few } from "../../../support/long.ts";

const WAYS = [
  { backMs: 120_000, restarts: true },
  { backMs: 120_000, restarts: false },
  { backMs: RETENTION_MS, restarts: false },
  { backMs: 2 * RETENTION_MS, restarts: true },
];

it.each(few(WAYS, 2))(
  "a clock that goes back by $backMs ms (killed then: $restarts) brings no answer back",
  async (way) => {
    expect(await clockGoesBack(await rigEntry(), way)).toEqual([]);
  },
);

it("an expired record that stayed in the closed object would be noticed", async () => {
  const wrong = await clockGoesBack(await rigEntry(CLOCK_FAULT), { backMs: 120_000, restarts: false });
  expect(wrong.join()).toContain("while the second attempt runs: 201 first");
});
