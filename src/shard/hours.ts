// Keeps what this object counts, by hours, so that operators see a day even if the object leaves memory. A row is written at most once in
// `EVERY_MS`, with an exchange or an alarm that comes then: no timer keeps the object in memory for it. What was counted after the
// last row is lost with the object's memory.

import { bookkeep } from "../traffic/bookkeep.ts";
import { type HourCounts, HourlyCounts, type RouteHour } from "../traffic/hour-counts.ts";
import { type RecordReplays, replayedName } from "../traffic/replay-counts.ts";
import type { ExchangeReport, TrafficBatch, TrafficWatch } from "../traffic/traffic.ts";
import { type HourRows, KEPT_HOURS } from "./store/hours.ts";

const HOUR_MS = 3_600_000;

export const EVERY_MS = 600_000;

/** What was counted in one hour. */
export interface HourOfShard {
  /** The beginning of the hour, in milliseconds since the epoch. */
  readonly at: number;
  readonly routes: readonly RouteHour[];
}

export class Hours implements TrafficWatch {
  readonly #rows: HourRows;
  readonly #unwritten = new HourlyCounts();
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(rows: HourRows) {
    this.#rows = rows;
  }

  exchange(report: ExchangeReport, now: number): void {
    this.#beginHour(now);
    this.#unwritten.exchange(report, now);
    this.writeIfDue(now);
  }

  passed(route: string, now: number): void {
    this.#beginHour(now);
    this.#unwritten.passed(route);
    this.writeIfDue(now);
  }

  add(batch: TrafficBatch, now: number): void {
    this.#beginHour(now);
    this.#unwritten.add(batch);
    this.writeIfDue(now);
  }

  writeIfDue(now: number): void {
    if (this.#unwritten.isEmpty || Math.abs(now - this.#writtenAt) < EVERY_MS) return;
    this.#write(now, now);
  }

  /** What is left of an hour that is over belongs to it. */
  #beginHour(now: number): void {
    const isSame = hourOf(now) === hourOf(this.#writtenAt);
    if (!isSame && !this.#unwritten.isEmpty) this.#write(this.#writtenAt, now);
  }

  #write(of: number, now: number): void {
    // Before it succeeds: a store that fails is not asked by each exchange.
    this.#writtenAt = now;
    bookkeep("keeping the counts of an hour", () => {
      const hour = hourOf(of);
      const counts = this.#stored(this.#rows.get(hour));
      counts.addHour(this.#unwritten.counts);
      this.#rows.put({ hour, counts: JSON.stringify(counts.counts) });
      this.#unwritten.take();
    });
  }

  #stored(text: string | null): HourlyCounts {
    const counts = new HourlyCounts();
    if (text !== null) counts.addHour(JSON.parse(text));
    return counts;
  }

  /** The last day, without hours in which nothing was counted; the oldest first. */
  lastDay(now: number): readonly HourOfShard[] {
    return this.#all(now).map(({ hour, counts: { routes } }) => ({ at: hour * HOUR_MS, routes }));
  }

  /** How often the record was replayed in the last day; `null`: never, or not counted. */
  replaysOf(recordId: string, now: number): RecordReplays | null {
    const record = replayedName(recordId);
    const found = this.#all(now).flatMap(({ counts }) => counts.replays.filter((one) => one.record === record));
    return sumOfReplays(found);
  }

  #all(now: number): readonly { readonly hour: number; readonly counts: HourCounts }[] {
    const hours = new Map(
      this.#rows.since(hourOf(now) - KEPT_HOURS + 1).map(({ hour, counts }) => [hour, this.#stored(counts)]),
    );
    const current = Number.isFinite(this.#writtenAt) ? hourOf(this.#writtenAt) : hourOf(now);
    const unwritten = hours.get(current) ?? new HourlyCounts();
    unwritten.addHour(this.#unwritten.counts);
    if (!unwritten.isEmpty) hours.set(current, unwritten);
    return [...hours].map(([hour, { counts }]) => ({ hour, counts })).toSorted((one, other) => one.hour - other.hour);
  }
}

export function sumOfReplays(found: readonly RecordReplays[]): RecordReplays | null {
  const [first] = found;
  if (first === undefined) return null;
  return {
    record: first.record,
    count: found.reduce((sum, { count }) => sum + count, 0),
    lastAt: Math.max(...found.map(({ lastAt }) => lastAt)),
  };
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}
