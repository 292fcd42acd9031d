// The numbers of one route, by name: they are stored and read by other versions, so the order of a list must never matter. A new kind of
// count is one line in COUNTED_NAMES.

import { CLAIM_STATES } from "../record/claim.ts";
import { DEAD_REASONS, DELIVERY_DECISIONS } from "../record/delivery.ts";
import { EVENT_FATES } from "../record/outbox.ts";
import { CONTENT_USES, OUTCOMES, PREVENTED } from "../record/outcome.ts";
import { EFFECT_EVIDENCE, SIGHTING_CLASSES, SIGHTINGS_LOST } from "../record/sighting.ts";
import { ATTEMPT_VERDICTS } from "../record/timeline.ts";
import { VERIFICATION_FINDINGS } from "../record/verification-answer.ts";
import { Histogram, type HistogramCounts, isOfTheseBounds, largerTimes } from "./histogram.ts";

/** What a destination of events is called among the routes. */
export function outboxRoute(destination: string): string {
  return `outbox:${destination}`;
}

/** Everything that is counted, and the names under which it is. */
export const COUNTED_NAMES = {
  /** Requests answered, by outcome. */
  requests: OUTCOMES,
  /** Those of them that got the answer of a duplicate at the end of their own attempt, so nothing was prevented. */
  reached: PREVENTED,
  /** The first attempts of their records, and all later ones. */
  /** Requests whose keys are made from their content: those that were sent to the API, those that repeated one, and those with other content under the key. */
  contentKeys: CONTENT_USES,
  attempts: ["first", "again"],
  verdicts: ATTEMPT_VERDICTS,
  /** What came of asking the origin about lost attempts. */
  findings: VERIFICATION_FINDINGS,
  /** Attempts begun while as many others ran as the platform allows to call at once. */
  queued: ["queued"],
  /** Results whose bodies would have counted, and could not be read. */
  unreadable: ["unreadable"],
  /** Requests that an object had no record for, and whose keys begin in another layout (kernel/elsewhere.ts). */
  elsewhere: ["closed", "first"],
  /** Accepted requests that were given up. */
  givenUp: ["given-up"],
  /** How often an isolate has noticed that the tokens of the route's callers expire before their records do. */
  rotating: ["noticed"],
  /** Of queues: decisions about messages, and dead letters. */
  deliveries: DELIVERY_DECISIONS,
  deadLetters: DEAD_REASONS,
  /** Of groups: what consumers were answered about their claims. */
  claims: CLAIM_STATES,
  /** Of destinations: what became of events. */
  events: EVENT_FATES,
  /** Of routes on trial: what was seen from the side, and what never reached an object. */
  sightings: [...SIGHTING_CLASSES, ...SIGHTINGS_LOST],
  effects: EFFECT_EVIDENCE,
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type CountedKind = keyof typeof COUNTED_NAMES;
export type CountedName<C extends CountedKind> = (typeof COUNTED_NAMES)[C][number];

/** Only those that have occurred. */
type CountsByName = Readonly<Partial<Record<CountedKind, Readonly<Record<string, number>>>>>;

/** As plain data. */
export interface RouteNumbers {
  readonly route: string;
  readonly counts: CountsByName;
  /** From the call to the origin until its headers. */
  readonly origin: HistogramCounts;
  /** The rest of an exchange, without waiting for others. */
  readonly gateway: HistogramCounts;
  /** From the Worker to the object and back, as far as it was measured; absent: never. */
  readonly hop?: HistogramCounts | undefined;
}

export class RouteCounters {
  readonly #route: string;
  readonly #counts = new Map<CountedKind, Map<string, number>>();
  readonly #origin = new Histogram();
  readonly #gateway = new Histogram();
  #hop: Histogram | null = null;

  constructor(route: string) {
    this.#route = route;
  }

  count<C extends CountedKind>(what: C, name: CountedName<C>, times = 1): void {
    this.#count(what, name, times);
  }

  #count(what: CountedKind, name: string, times: number): void {
    const names = this.#counts.get(what);
    if (names === undefined) this.#counts.set(what, new Map([[name, times]]));
    else names.set(name, (names.get(name) ?? 0) + times);
  }

  origin(ms: number): void {
    this.#origin.observe(ms);
  }

  gateway(ms: number): void {
    this.#gateway.observe(ms);
  }

  hop(ms: number): void {
    this.#hop ??= new Histogram();
    this.#hop.observe(ms);
  }

  get numbers(): RouteNumbers {
    const counts = Object.fromEntries([...this.#counts].map(([what, names]) => [what, Object.fromEntries(names)]));
    const [origin, gateway, hop] = [this.#origin.counts, this.#gateway.counts, this.#hop?.counts];
    return { route: this.#route, counts, origin, gateway, ...(hop === undefined ? null : { hop }) };
  }

  /** Adds counts from elsewhere. */
  add({ counts, origin, gateway, hop }: RouteNumbers): void {
    for (const what of ALL_COUNTED) {
      for (const [name, times] of Object.entries(counts[what] ?? {})) this.#count(what, name, times);
    }
    // Another version may have had other bounds.
    if (isOfTheseBounds(origin)) this.#origin.add(origin);
    if (isOfTheseBounds(gateway)) this.#gateway.add(gateway);
    if (hop === undefined || !isOfTheseBounds(hop)) return;
    this.#hop ??= new Histogram();
    this.#hop.add(hop);
  }
}

const ALL_COUNTED: readonly CountedKind[] = Object.keys(COUNTED_NAMES).filter(
  (name): name is CountedKind => name in COUNTED_NAMES,
);

/** How often something was counted under a name. */
export function countOf<C extends CountedKind>({ counts }: RouteNumbers, what: C, name: CountedName<C>): number {
  return counts[what]?.[name] ?? 0;
}

/** The sum over all names. */
export function sumOf({ counts }: RouteNumbers, what: CountedKind): number {
  return Object.values(counts[what] ?? {}).reduce((sum, count) => sum + count, 0);
}

/** Under each name that there is, also those that have not occurred. */
export function countsOf(
  numbers: RouteNumbers,
  what: CountedKind,
): readonly (readonly [name: string, count: number])[] {
  return COUNTED_NAMES[what].map((name) => [name, numbers.counts[what]?.[name] ?? 0] as const);
}

/** The numbers of routes that have counted, and zeros of those on the list that have not: `increase()` misses the first value of a new series. */
export function countedOrListed(
  totals: readonly RouteNumbers[],
  paths: readonly string[],
  hasCounted: (numbers: RouteNumbers) => boolean,
): readonly RouteNumbers[] {
  const counted = totals.filter(hasCounted);
  const missing = [...new Set(paths)].filter((path) => !counted.some(({ route }) => route === path));
  return [...counted, ...missing.map((path) => new RouteCounters(path).numbers)];
}

/** Adds up the numbers of each route. */
export function addedUp(all: readonly RouteNumbers[]): readonly RouteNumbers[] {
  const sums = new Map<string, RouteCounters>();
  for (const one of all) {
    const sum = sums.get(one.route) ?? new RouteCounters(one.route);
    sum.add(one);
    sums.set(one.route, sum);
  }
  return [...sums.values()].map(({ numbers }) => numbers);
}

/**
 * The later of two states of the same numbers. Each number of an object only rises, so the later state has the larger of each; which
 * of the two came first does not matter.
 */
export function laterOf(one: readonly RouteNumbers[], other: readonly RouteNumbers[]): readonly RouteNumbers[] {
  const routes = new Set([...one, ...other].map(({ route }) => route));
  return [...routes].map((route) => {
    const [first, second] = [one, other].map((list) => list.find((numbers) => numbers.route === route));
    if (first === undefined || second === undefined) return first ?? second ?? new RouteCounters(route).numbers;
    return {
      route,
      counts: largerCounts(first.counts, second.counts),
      origin: largerTimes(first.origin, second.origin),
      gateway: largerTimes(first.gateway, second.gateway),
      hop: largerHop(first.hop, second.hop),
    };
  });
}

function largerHop(one: HistogramCounts | undefined, other: HistogramCounts | undefined): HistogramCounts | undefined {
  return one === undefined || other === undefined ? (one ?? other) : largerTimes(one, other);
}

function largerCounts(one: CountsByName, other: CountsByName): CountsByName {
  return Object.fromEntries(
    ALL_COUNTED.filter((what) => what in one || what in other).map((what) => {
      const [first, second] = [one[what] ?? {}, other[what] ?? {}];
      const names = [...new Set([...Object.keys(first), ...Object.keys(second)])];
      return [what, Object.fromEntries(names.map((name) => [name, Math.max(first[name] ?? 0, second[name] ?? 0)]))];
    }),
  );
}
