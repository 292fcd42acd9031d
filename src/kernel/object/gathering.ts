// What a gathering object knows of the objects of a large layout: what each answered when it was asked last. A request may make a bounded number of
// calls (Workers documentation, "Limits"), so it has gathering objects ask some objects each, those first that have not been asked for longest, and
// gets the sums over all. Pure: which objects are asked next, what is remembered of their answers, and what the sums are.

import { jsonCall } from "../call.ts";
import { type Layout, layoutName } from "../config/layout.ts";
import { HELD } from "../record/held-rows.ts";
import { COUNTED_STATES } from "../record/record.ts";
import { epochMs } from "../record/units.ts";
import type { RouteNumbers } from "../traffic/route-counters.ts";
import type { HourOfShard } from "./kept-counts.ts";
import type { ClosedState, PlaceCounts, ShardCounts, ShardNumbers } from "./operator-calls.ts";
import type { CountedByShard } from "./totals.ts";

/** Asks an object for all of its numbers, and for its counts of each hour from one on. */
export const REPORT_CALL = jsonCall<{ readonly hoursFrom: number }, ShardReport>("report");

/** Has a gathering object ask some of its objects, and answers with what it knows of all. */
export const GATHER_CALL = jsonCall<GatherQuestion, GatherAnswer>("gather");

export interface ShardReport {
  readonly numbers: ShardNumbers;
  readonly hours: readonly HourOfShard[];
}

export interface GatherQuestion {
  readonly layout: Layout;
  /** The numbers of its objects: `count` of them, from this one on. */
  readonly from: number;
  readonly count: number;
  /** Only these of them; absent: all. */
  readonly only?: readonly number[];
  /** How many objects it asks at most. */
  readonly ask: number;
  /** These first. */
  readonly first?: readonly number[];
  /** What of its knowledge is answered besides the sums. */
  readonly wants: GatherWants;
}

export interface GatherWants {
  readonly hours?: true;
  readonly counters?: true;
  /** Which objects may be open. */
  readonly open?: true;
  /** What these features hold, by name. */
  readonly features?: readonly string[];
}

export interface GatherAnswer {
  /** Of the objects that answered when they were asked last: one for all that are open, and one for those that are closed for the same layout. */
  readonly together: readonly ShardsTogether[];
  /** The objects with the oldest attempts in flight and the oldest unknown outcomes. */
  readonly oldest: readonly (HeldNumbers & { readonly shard: number })[];
  /** Objects that did not answer when they were asked last. */
  readonly unreachable: readonly number[];
  /** How many objects' numbers are of an earlier request. */
  readonly earlier: number;
  /** How many objects no request has asked. */
  readonly never: number;
  /** When the earliest of the answers was given; `null` without any. */
  readonly oldestAt: number | null;
  /** All that the objects have counted, as far as it is known. */
  readonly counters: readonly RouteNumbers[];
  /** What they counted in the last day, as far as it is known. */
  readonly hours: readonly HourOfShard[];
  readonly open: readonly number[];
  /** By feature: of each object that holds something. */
  readonly features: Readonly<Record<string, readonly { readonly shard: number; readonly held: unknown }[]>>;
}

/** What an object holds now: its numbers without what it has ever counted. */
export type HeldNumbers = Omit<ShardNumbers, "routes" | "since" | "features">;

/** Sums over objects, and the largest of their ages and delays. */
export interface ShardsTogether extends Omit<HeldNumbers, "isUnwritten"> {
  readonly objects: number;
  /** How many of them could not write what they have counted. */
  readonly unwritten: number;
  readonly largestBytes: number;
}

/** What is known of one object. */
export interface GatheredShard {
  readonly shard: number;
  readonly triedAt: number;
  /** `null`: it did not answer. */
  readonly held: HeldNumbers | null;
  readonly features: ShardNumbers["features"];
  /** The beginning of the first hour whose counts are not in the sum of hours. */
  readonly hoursFrom: number;
  /** Its counts from that hour on: those of an hour that is over do not change any more. */
  readonly hours: readonly HourOfShard[];
}

/** What is stored. */
export interface KnownObjects {
  readonly shards: readonly GatheredShard[];
  /** The hours that are over, of all objects. */
  readonly hours: readonly HourOfShard[];
}

/**
 * What gathering objects count as in the totals. Always the same: one that has lost its database learns the same counters again, which must not be
 * added to those before.
 */
export const GATHERED_SINCE = 1;

const HOUR_MS = 3_600_000;
const SHOWN_HOURS = 25;
/** An hour is over when no clock of an object may still be in it. */
const CLOCKS_MS = 60_000;
/** How many of the oldest attempts and of the oldest unknown outcomes an answer finds for sure. */
export const OLDEST = 5;

/**
 * Those that have not been asked for longest, and first of all those that have never been. Before them come the wanted ones and, up to half of all,
 * those that did not answer: operators wait for them. `asking`: those that another request is asking.
 */
export function nextToAsk(
  known: ReadonlyMap<number, Pick<GatheredShard, "triedAt" | "held">>,
  { from, count, only, ask, first = [] }: GatherQuestion,
  asking: ReadonlySet<number> = new Set(),
): readonly number[] {
  const isOwn = (number: number): boolean => number >= from && number < from + count;
  const inOrder = (only ?? Array.from({ length: count }, (_, at) => from + at))
    .map((number) => ({ number, triedAt: known.get(number)?.triedAt ?? 0, isSilent: known.get(number)?.held === null }))
    .toSorted((one, other) => one.triedAt - other.triedAt);
  const silent = inOrder.filter(({ isSilent }) => isSilent).slice(0, Math.ceil(ask / 2));
  const all = [...first.filter(isOwn), ...[...silent, ...inOrder].map(({ number }) => number)];
  return [...new Set(all)].filter((number) => !asking.has(number)).slice(0, ask);
}

/** What is known of an object that was asked at `triedAt`. `report`: `null`, it did not answer. `over`: hours of it that are over. */
export function withReport(
  before: GatheredShard | undefined,
  shard: number,
  triedAt: number,
  report: ShardReport | null,
): { readonly known: GatheredShard; readonly over: readonly HourOfShard[] } {
  const { hoursFrom = 0, hours = [] } = before ?? {};
  if (report === null) return { known: { shard, triedAt, held: null, features: {}, hoursFrom, hours }, over: [] };
  const { routes: _routes, since: _since, features, ...held } = report.numbers;
  const current = Math.max(hoursFrom, Math.floor((triedAt - CLOCKS_MS) / HOUR_MS) * HOUR_MS);
  const fresh = report.hours.filter(({ at }) => at >= hoursFrom);
  const known = {
    shard,
    triedAt,
    held: { ...held, closed: withoutCounters(held.closed) },
    features,
    hoursFrom: current,
    hours: fresh.filter(({ at }) => at >= current),
  };
  return { known, over: fresh.filter(({ at }) => at < current) };
}

/** They are in the sum of all counters. */
function withoutCounters(closed: ClosedState | null): ClosedState | null {
  if (closed === null || closed.left === null) return closed;
  return { ...closed, left: { ...closed.left, routes: [] } };
}

/** The hours of the last day, those of the same hour together. */
export function hoursTogether(
  hours: readonly HourOfShard[],
  now: number,
  addUp: (routes: readonly RouteNumbers[]) => readonly RouteNumbers[],
): readonly HourOfShard[] {
  const first = now - SHOWN_HOURS * HOUR_MS;
  const recent = hours.filter(({ at }) => at > first);
  return [...Map.groupBy(recent, ({ at }) => at)]
    .map(([at, all]) => ({ at, routes: addUp(all.flatMap(({ routes }) => routes)) }))
    .toSorted((one, other) => one.at - other.at);
}

/** `counters`: all that the objects have counted. `since`: when this request began. */
export function gatherAnswer(
  { shards, hours }: KnownObjects,
  { from, count, only, wants }: Pick<GatherQuestion, "from" | "count" | "only" | "wants">,
  counters: CountedByShard["routes"],
  since: number,
): GatherAnswer {
  const own = shards.filter(({ shard }) => shard >= from && shard < from + count);
  const answered = own.flatMap(({ shard, held }) => (held === null ? [] : [{ shard, ...held }]));
  const { features = [] } = wants;
  return {
    together: together(answered, counters),
    oldest: oldestOf(answered),
    unreachable: own.filter(({ held }) => held === null).map(({ shard }) => shard),
    earlier: own.filter(({ triedAt }) => triedAt < since).length,
    never: Math.max(0, (only?.length ?? count) - own.length),
    oldestAt: own.length === 0 ? null : Math.min(...own.map(({ triedAt }) => triedAt)),
    counters: wants.counters === true ? counters : [],
    hours: wants.hours === true ? [...hours, ...own.flatMap((one) => one.hours)] : [],
    open: wants.open === true ? openOnes(own, from, count) : [],
    features: Object.fromEntries(features.map((name) => [name, holding(own, name)])),
  };
}

function openOnes(own: readonly GatheredShard[], from: number, count: number): readonly number[] {
  const closed = new Set(own.filter(({ held }) => held !== null && held.closed !== null).map(({ shard }) => shard));
  return Array.from({ length: count }, (_, at) => from + at).filter((number) => !closed.has(number));
}

function holding(
  own: readonly GatheredShard[],
  name: string,
): readonly { readonly shard: number; readonly held: unknown }[] {
  return own
    .filter(({ held }) => held !== null)
    .map(({ shard, features }) => ({ shard, held: features[name] ?? null }))
    .filter(({ held }) => held !== null && !(Array.isArray(held) && held.length === 0));
}

/** Every object that has one of the OLDEST oldest ones of all is among the OLDEST objects by the age of their own oldest. */
function oldestOf<Shard extends Pick<HeldNumbers, "oldestMs" | "oldestUnknownMs">>(
  shards: readonly Shard[],
): readonly Shard[] {
  const by = (age: "oldestMs" | "oldestUnknownMs"): readonly Shard[] =>
    shards
      .filter((one) => one[age] > 0)
      .toSorted((one, other) => other[age] - one[age])
      .slice(0, OLDEST);
  return [...new Set([...by("oldestUnknownMs"), ...by("oldestMs")])];
}

/** In one for each layout for which objects are closed, those that are empty apart, and one for those that are open. */
function together(shards: readonly HeldNumbers[], counters: readonly RouteNumbers[]): readonly ShardsTogether[] {
  const alike = Map.groupBy(shards, ({ closed }) =>
    closed === null ? "open" : `${closed.left === null ? "closed" : "empty"} ${layoutName(closed.next)}`,
  );
  return [...alike.values()].map((all) => sumOf(all, counters));
}

function sumOf(all: readonly HeldNumbers[], counters: readonly RouteNumbers[]): ShardsTogether {
  const sum = (value: (one: HeldNumbers) => number): number => all.reduce((total, one) => total + value(one), 0);
  const most = (value: (one: HeldNumbers) => number): number => Math.max(0, ...all.map(value));
  const expiries = all.flatMap(({ lastExpiresAt }) => lastExpiresAt ?? []);
  return {
    objects: all.length,
    inFlight: sum(({ inFlight }) => inFlight),
    waiting: sum(({ waiting }) => waiting),
    failed: sum(({ failed }) => failed),
    unknown: sum(({ unknown }) => unknown),
    atLeast: COUNTED_STATES.filter((state) => all.some(({ atLeast }) => atLeast.includes(state))),
    oldestMs: most(({ oldestMs }) => oldestMs),
    oldestUnknownMs: most(({ oldestUnknownMs }) => oldestUnknownMs),
    oldestWaitingMs: most(({ oldestWaitingMs }) => oldestWaitingMs),
    placesTaken: sum(({ placesTaken }) => placesTaken),
    callsInFlight: sum(({ callsInFlight }) => callsInFlight),
    overdueMs: most(({ overdueMs }) => overdueMs),
    unwritten: sum(({ isUnwritten }) => (isUnwritten ? 1 : 0)),
    bytes: sum(({ bytes }) => bytes),
    largestBytes: most(({ bytes }) => bytes),
    closed: closedTogether(
      all.flatMap(({ closed }) => closed ?? []),
      counters,
    ),
    places: placesTogether(all),
    lastExpiresAt: expiries.length === 0 ? null : epochMs(Math.max(...expiries)),
  };
}

/** How many of these objects run where. */
export function placesTogether(all: readonly Pick<ShardCounts, "places">[]): PlaceCounts {
  const sums = new Map<string, number>();
  for (const { places = {} } of all)
    for (const [place, count] of Object.entries(places)) sums.set(place, (sums.get(place) ?? 0) + count);
  return Object.fromEntries([...sums].toSorted(([, one], [, other]) => other - one));
}

function closedTogether(all: readonly ClosedState[], routes: readonly RouteNumbers[]): ClosedState | null {
  const [first] = all;
  if (first === undefined) return null;
  const holds = HELD.flatMap((what) => {
    const counts = all.flatMap((one) => one.holds.filter((held) => held.what === what).map(({ count }) => count));
    return counts.length === 0 ? [] : [{ what, count: counts.reduce((sum, count) => sum + count, 0) }];
  });
  const dayRequests = all.reduce((sum, { left }) => sum + (left?.dayRequests ?? 0), 0);
  const left = first.left === null ? null : { since: GATHERED_SINCE, routes, dayRequests };
  return { next: first.next, at: first.at, holds, left };
}
