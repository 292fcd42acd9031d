// What the charts show, made of the counters by route and outcome.

/** How many requests of a route ended so. */
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

/** Answered by the first answer: the retry did what it is for. */
const REPLAYS: ReadonlySet<string> = new Set(["replay", "attached"]);

/** Refused for what the key stands for: another request, one that runs, one in doubt, one whose answer was not kept. */
const CONFLICTS: ReadonlySet<string> = new Set(["in-flight", "mismatch", "outcome-unknown", "not-kept"]);

/** By route, busiest first. */
export function ratesOf(counts: readonly OutcomeCount[]): readonly RouteRates[] {
  const rates = [...Map.groupBy(counts, ({ route }) => route)].map(([route, its]) => {
    const sum = (outcomes: ReadonlySet<string> | null): number =>
      its.reduce((total, { outcome, count }) => (outcomes?.has(outcome) === false ? total : total + count), 0);
    return { route, requests: sum(null), replays: sum(REPLAYS), conflicts: sum(CONFLICTS) };
  });
  return rates.toSorted((one, other) => other.requests - one.requests || (one.route < other.route ? -1 : 1));
}
