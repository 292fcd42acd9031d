import { describe, expect, it } from "vitest";
import { type ExchangeOutcome, OUTCOMES } from "../../../src/kernel/record/outcome.ts";
import { dayOf, preventedIn } from "../../../src/operator/console/day-counts.ts";

const NOW = Date.parse("2026-11-23T08:30:00Z");

function hour(
  route: string,
  counts: Readonly<Partial<Record<ExchangeOutcome, number>>>,
  originP95Ms: number | null = null,
) {
  const outcomes = OUTCOMES.map((outcome) => ({ outcome, count: counts[outcome] ?? 0 }));
  const prevented = (counts["replay"] ?? 0) + (counts["in-flight"] ?? 0) + (counts["outcome-unknown"] ?? 0);
  const time = { count: 1, meanMs: 1, p50Ms: 5, p95Ms: 10 };
  return {
    route,
    requests: outcomes.reduce((sum, { count }) => sum + count, 0),
    prevented,
    outcomes,
    origin:
      originP95Ms === null ? { count: 0, meanMs: null, p50Ms: null, p95Ms: null } : { ...time, p95Ms: originP95Ms },
    gateway: time,
  };
}

const HOURS = [
  {
    at: "2026-11-22T08:00:00.000Z",
    routes: [
      hour("/a", { first: 10, replay: 3, mismatch: 1 }, 100),
      hour("/b", { first: 2, "origin-timeout": 1 }, 250),
    ],
  },
  { at: "2026-11-23T08:00:00.000Z", routes: [hour("/b", { first: 20, "outcome-unknown": 4, unprotected: 1 })] },
];

describe("the last day", () => {
  const { all, routes } = dayOf({ hours: HOURS }, NOW);

  it("has 25 hours without gaps, from the same hour yesterday to the current one", () => {
    expect(all.hours).toHaveLength(25);
    expect([all.hours[0]?.at, all.hours[24]?.at]).toEqual(["2026-11-22T08:00:00.000Z", "2026-11-23T08:00:00.000Z"]);
    expect(all.hours[12]).toMatchObject({ requests: 0, errors: 0, originP95Ms: null });
  });

  it("adds up counts over routes and hours, and shows the slowest route's and the worst hour's times", () => {
    expect(all.hours[0]).toMatchObject({ requests: 17, replays: 3, conflicts: 1, errors: 1, originP95Ms: 250 });
    expect(all.total).toMatchObject({
      requests: 42,
      prevented: 7,
      replays: 3,
      conflicts: 5,
      errors: 2,
      originP95Ms: 250,
      gatewayP95Ms: 10,
    });
    expect(preventedIn({ hours: HOURS })).toBe(7);
  });

  it("has a series of each route, the busiest first", () => {
    expect(routes.map(({ route, total }) => [route, total.requests])).toEqual([
      ["/b", 28],
      ["/a", 14],
    ]);
    expect(routes[1]?.hours[0]?.originP95Ms).toBe(100);
    expect(routes[1]?.hours[24]?.requests).toBe(0);
  });

  it("counts no request both as a conflict and as an error", () => {
    const last = routes[0]?.hours[24];
    expect([last?.conflicts, last?.errors]).toEqual([4, 1]);
  });
});
