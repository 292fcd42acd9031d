// Computes replays and conflicts of each route from the counters by outcome.

/** How many requests of a route had this outcome. */
export interface OutcomeCount {
  readonly route: string;
  readonly outcome: string;
  readonly count: number;
}

export interface RouteRates {
  readonly route: string;
  readonly requests: number;
  readonly replays: number;
  readonly conflicts: number;
}

/** Retries that got the first response. */
export const REPLAYS: ReadonlySet<string> = new Set(["replay", "attached"]);

/** Refused because of the key's record: other request, in flight, outcome unknown, response not kept. */
export const CONFLICTS: ReadonlySet<string> = new Set([
  "in-flight",
  "mismatch",
  "outcome-unknown",
  "not-kept",
  "key-expired",
]);

/** By route, busiest first. */
export function ratesOf(counts: readonly OutcomeCount[]): readonly RouteRates[] {
  const rates = [...Map.groupBy(counts, ({ route }) => route)].map(([route, its]) => {
    const sum = (outcomes: ReadonlySet<string> | null): number =>
      its.reduce((total, { outcome, count }) => (outcomes?.has(outcome) === false ? total : total + count), 0);
    return { route, requests: sum(null), replays: sum(REPLAYS), conflicts: sum(CONFLICTS) };
  });
  return rates.toSorted((one, other) => other.requests - one.requests || (one.route < other.route ? -1 : 1));
}
