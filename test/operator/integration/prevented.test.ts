// How many duplicates were prevented, as operators see it, from what objects have counted.

import { expect, it } from "vitest";
import type { ExchangeOutcome } from "../../../src/kernel/record/outcome.ts";
import { PREVENTED } from "../../../src/kernel/record/outcome.ts";
import { TrafficTally } from "../../../src/kernel/traffic/tally.ts";
import { viewHours } from "../../../src/operator/hours.ts";

function count(outcomes: readonly ExchangeOutcome[], originMs: number | null): object | undefined {
  const tally = new TrafficTally();
  const of = { at: 0, route: "/pay", recordId: null, status: 409, attempt: 1, durationMs: 9, waitedMs: 0 };
  for (const outcome of outcomes) tally.exchange({ ...of, outcome, originMs }, 0);
  return viewHours([[{ at: 0, routes: tally.routes }]])[0]?.routes[0];
}

it.each(PREVENTED)("a duplicate that got %s was prevented", (outcome) => {
  expect(count([outcome], null)).toMatchObject({ requests: 1, prevented: 1, outcomes: [{ outcome, count: 1 }] });
});

it.each(PREVENTED)("a request whose own attempt ended with %s has reached the origin", (outcome) => {
  expect(count([outcome], 5)).toMatchObject({ requests: 1, prevented: 0, outcomes: [{ outcome, count: 1 }] });
});

it.each(["first", "refused", "mismatch", "key-missing", "accepted"] as const)("%s prevented nothing", (outcome) => {
  expect(count([outcome, outcome], null)).toMatchObject({ requests: 2, prevented: 0 });
});
