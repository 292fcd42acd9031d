// A day of traffic for pictures of the console: the hours that an object has stored, in a form that shows what the charts show. Written
// into the file of a gateway that is stopped, because a real day takes a day.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ExchangeOutcome } from "../../src/kernel/record/outcome.ts";
import type { RouteNumbers } from "../../src/kernel/traffic/route-counters.ts";
import { type HistogramCounts, Histogram } from "../../src/kernel/traffic/histogram.ts";

const HOURS = 24;
const HOUR_MS = 3_600_000;

export interface PlannedRoute {
  readonly route: string;
  /** First requests in the busiest hour. */
  readonly busiest: number;
  readonly originMs: number;
}

/** For hours of the night and the day, with an hour in which the origin was slow and calls were lost. */
function hourOf({ route, busiest, originMs }: PlannedRoute, back: number): RouteNumbers {
  const isBad = back === 6 || back === 7;
  const first = Math.round(busiest * (0.35 + 0.65 * Math.sin((Math.PI * (HOURS - back)) / HOURS) ** 2));
  const requests: Partial<Record<ExchangeOutcome, number>> = {
    first,
    replay: Math.round(first * (isBad ? 0.4 : 0.06)),
    attached: isBad ? 4 : 0,
    "in-flight": Math.round(first * (isBad ? 0.12 : 0.01)),
    mismatch: back % 5 === 0 ? 2 : 0,
    "origin-timeout": isBad ? Math.round(first * 0.05) : 0,
  };
  const origin = timesOf(first, originMs * (isBad ? 20 : 1));
  return { route, counts: { requests }, origin, gateway: timesOf(first, isBad ? 20 : 8) };
}

function timesOf(count: number, usualMs: number): HistogramCounts {
  const histogram = new Histogram();
  for (let number = 0; number < count; number += 1) histogram.observe(usualMs * (number % 10 === 0 ? 3 : 1));
  return histogram.counts;
}

/** The database of an object that has written what it has counted; `null`: none has yet. */
export function countedFile(stateDir: string): string | null {
  const folder = join(stateDir, "onceway-KeyShard");
  const names = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  return names.map((name) => join(folder, name)).find(hasCounts) ?? null;
}

/** Into one object of those that a stopped gateway has made. */
export function plantDay(stateDir: string, routes: readonly PlannedRoute[], now: number): void {
  const file = countedFile(stateDir);
  if (file === null) throw new Error("no object has counted anything yet");
  const database = new DatabaseSync(file);
  try {
    const put = database.prepare(
      "INSERT OR REPLACE INTO counts (hour, since, routes, taken, replays) VALUES (?, 0, ?, '[]', '[]')",
    );
    for (let back = 1; back <= HOURS; back += 1) {
      put.run(Math.floor(now / HOUR_MS) - back, JSON.stringify(routes.map((route) => hourOf(route, back))));
    }
  } finally {
    database.close();
  }
}

function hasCounts(file: string): boolean {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'counts'").get() !== undefined;
  } finally {
    database.close();
  }
}
