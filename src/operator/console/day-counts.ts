// The last day as series by hour, of all routes together and of each: what the charts draw.

import { isTrouble, type ExchangeOutcome } from "../../kernel/record/outcome.ts";
import type { HoursView, RouteHourView } from "../hours-schema.ts";
import { CONFLICTS, type OutcomeCount, REPLAYS } from "./traffic.ts";

/** The current hour and the 24 before it. */
const HOURS = 25;
const HOUR_MS = 3_600_000;

export const DAY_COUNTS = ["requests", "prevented", "replays", "conflicts", "errors"] as const;
/** In milliseconds. */
export const TIMED = ["originP50Ms", "originP95Ms", "gatewayP50Ms", "gatewayP95Ms"] as const;

/** Of several routes the slowest's times; `null`: nothing was measured. */
export interface HourPoint
  extends
    Readonly<Record<(typeof DAY_COUNTS)[number], number>>,
    Readonly<Record<(typeof TIMED)[number], number | null>> {
  /** The beginning of the hour, as in the API. */
  readonly at: string;
}

export interface DaySeries {
  /** The oldest first, without gaps. */
  readonly hours: readonly HourPoint[];
  /** Counts added up, and of times the worst hour's. */
  readonly total: Omit<HourPoint, "at">;
}

export interface RouteDay extends DaySeries {
  readonly route: string;
}

export interface DayOfRoutes {
  readonly all: DaySeries;
  /** The busiest first. */
  readonly routes: readonly RouteDay[];
}

export function dayOf({ hours }: Pick<HoursView, "hours">, now: number): DayOfRoutes {
  const named = hours.flatMap(({ routes }) => routes.map(({ route }) => route));
  return {
    all: seriesOf(hours, now, () => true),
    routes: [...new Set(named)]
      .map((name) => routeDay(hours, now, name))
      .toSorted((one, other) => other.total.requests - one.total.requests),
  };
}

function routeDay(hours: HoursView["hours"], now: number, name: string): RouteDay {
  return { route: name, ...seriesOf(hours, now, ({ route }) => route === name) };
}

/** Duplicates that did not reach the origin. */
export function preventedIn({ hours }: Pick<HoursView, "hours">): number {
  return sum(hours.flatMap(({ routes }) => routes.map(({ prevented }) => prevented)));
}

/** How often each outcome came, by route and hour. */
export function outcomesIn({ hours }: Pick<HoursView, "hours">): readonly OutcomeCount[] {
  return hours.flatMap(({ routes }) =>
    routes.flatMap(({ route, outcomes }) => outcomes.map((counted) => ({ route, ...counted }))),
  );
}

function seriesOf(hours: HoursView["hours"], now: number, isWanted: (route: RouteHourView) => boolean): DaySeries {
  const current = Math.floor(now / HOUR_MS);
  const points = Array.from({ length: HOURS }, (_, index) => {
    const at = new Date((current - HOURS + 1 + index) * HOUR_MS).toISOString();
    const routes = hours.find((hour) => hour.at === at)?.routes ?? [];
    return { at, ...pointOf(routes.filter(isWanted)) };
  });
  const counts = Object.fromEntries(DAY_COUNTS.map((name) => [name, sum(points.map((point) => point[name]))]));
  const times = Object.fromEntries(TIMED.map((name) => [name, longest(points.map((point) => point[name]))]));
  return { hours: points, total: { ...EMPTY, ...counts, ...times } };
}

function pointOf(routes: readonly RouteHourView[]): Omit<HourPoint, "at"> {
  const counted = (isOne: (outcome: ExchangeOutcome) => boolean): number =>
    sum(routes.flatMap(({ outcomes }) => outcomes.map(({ outcome, count }) => (isOne(outcome) ? count : 0))));
  return {
    requests: sum(routes.map(({ requests }) => requests)),
    prevented: sum(routes.map(({ prevented }) => prevented)),
    replays: counted((outcome) => REPLAYS.has(outcome)),
    conflicts: counted((outcome) => CONFLICTS.has(outcome)),
    // What is refused because of a record is a conflict, also where it needs a look.
    errors: counted((outcome) => isTrouble(outcome) && !CONFLICTS.has(outcome)),
    originP50Ms: longest(routes.map(({ origin }) => origin.p50Ms)),
    originP95Ms: longest(routes.map(({ origin }) => origin.p95Ms)),
    gatewayP50Ms: longest(routes.map(({ gateway }) => gateway.p50Ms)),
    gatewayP95Ms: longest(routes.map(({ gateway }) => gateway.p95Ms)),
  };
}

const EMPTY = pointOf([]);

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function longest(times: readonly (number | null)[]): number | null {
  const measured = times.filter((ms) => ms !== null);
  return measured.length === 0 ? null : Math.max(...measured);
}
