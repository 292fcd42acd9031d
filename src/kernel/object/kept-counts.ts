// Keeps what this object counts, so that operators see all of it even if the object leaves memory: a row for each hour.
//
//   exchanges that end            ─ QUIET_MS after the last one, at most EVERY_MS after the first ─►  written
//   exchanges that have begun     ─ EVERY_MS ─►  written, unless they end before
//   a fact                        ►  written in the same turn, so in the commit of what it counts
//   shown to an operator          ►  written before, if it can be
//
// A crash loses what was counted since the last row: nothing if the object was quiet, and at most EVERY_MS of it otherwise.
//
// Rows are at hours, which a clock says, and a clock can be ahead or behind for a while. So rows are added up by their number and not by
// their age, and what a clock that was ahead has written counts as of now.

import { logFailure } from "../traffic/bookkeep.ts";
import { addedUp, type RouteNumbers } from "../traffic/route-counters.ts";
import { type RecordReplays, replayedName, sumOfReplays } from "../traffic/replay-counts.ts";
import { TrafficTally } from "../traffic/tally.ts";
import type { CountedWhen, CountKeeper } from "../traffic/traffic.ts";
import { type CountRows, SHOWN_HOURS, type StoredColumn } from "../store/counts.ts";
import type { ScheduledWork, ObjectTimers } from "./timers.ts";
import { NOTHING_COUNTED } from "./totals.ts";

const HOUR_MS = 3_600_000;

/**
 * A burst has one row, because a row waits until nothing has been counted for so long. A pending timer keeps the object in memory and on the
 * bill: 0.6 s of that cost as much as a row (test/bench/cost/prices.ts), so that to wait longer for few requests would cost more than it saves.
 */
export const QUIET_MS = 250;

/** How long a row waits at most while an object is busy. */
export const EVERY_MS = 5000;

/** The pause after a row could not be written. */
const RETRY_MS = 60_000;

/** How many ids of batches are remembered: an isolate repeats its latest one, and a busy gateway has some hundred isolates. */
const MOST_TAKEN = 1000;

/** What was counted in one hour. */
export interface HourOfShard {
  /** The beginning of the hour, in milliseconds since the epoch. */
  readonly at: number;
  readonly routes: readonly RouteNumbers[];
}

/** `own` instead of `stored`, if it is not null. */
interface ColumnOfHour<T> {
  readonly hour: number;
  readonly stored: string;
  readonly own: T | null;
}

export class KeptCounts implements CountKeeper {
  readonly #rows: CountRows;
  readonly #timers: ObjectTimers;
  readonly #isBusy: () => boolean;
  #hour = hourOf(Date.now());
  /** What this instance has counted in the hour; with what is stored of it, once that `isLoaded`. */
  #tally = new TrafficTally();
  #taken: string[] = [];
  #isLoaded = false;
  /** Whether the oldest hours have been added up since the hour began. */
  #isMerged = false;
  /** Since when something is not written, by the monotonic clock; `null`: all is. */
  #dirtySince: number | null = null;
  #isRefused = false;
  /** All other hours, once somebody has asked. */
  #others: readonly RouteNumbers[] | null = null;
  #since: number | null = null;
  #timer: ScheduledWork | null = null;
  #isTurnOver = true;
  #waiting: PromiseWithResolvers<void> | null = null;

  /** `isBusy`: attempts run in this object. */
  constructor(rows: CountRows, timers: ObjectTimers, isBusy: () => boolean) {
    this.#rows = rows;
    this.#timers = timers;
    this.#isBusy = isBusy;
  }

  tallyAt(now: number): TrafficTally {
    const hour = hourOf(now);
    // An hour that cannot be written continues: better in the wrong hour than nowhere.
    if (hour !== this.#hour && this.write()) {
      this.#hour = hour;
      this.#tally = new TrafficTally();
      this.#isLoaded = false;
      this.#isMerged = false;
      this.#others = null;
    }
    return this.#tally;
  }

  counted(when: CountedWhen): void {
    this.#since ??= Date.now();
    const now = performance.now();
    this.#dirtySince ??= now;
    const mostMs = Math.max(0, this.#dirtySince + EVERY_MS - now);
    if (when === "with-turn") this.#writeWithTurn();
    else this.#writeAfter(when === "more-comes" ? mostMs : Math.min(QUIET_MS, mostMs));
  }

  /** One row for all facts of a turn. What a microtask writes is in the commit of its turn. */
  #writeWithTurn(): void {
    if (!this.#isTurnOver) return;
    this.#isTurnOver = false;
    queueMicrotask(() => {
      this.#isTurnOver = true;
      this.write();
    });
  }

  #writeAfter(ms: number): void {
    if (this.#timer === null) this.#timer = this.#timers.set(ms, () => this.#writeUnlessBusy());
    // What could not be written is tried again after its pause.
    else if (!this.#isRefused) this.#timer.move(ms);
  }

  /** While attempts run, the object stays in memory anyway, and will have more to write. */
  #writeUnlessBusy(): void {
    const leftMs = (this.#dirtySince ?? 0) + EVERY_MS - performance.now();
    if (leftMs > 0 && this.#isBusy()) this.#timer?.move(leftMs);
    else this.write();
  }

  /** Writes what is not written yet. Whether all is. */
  write(): boolean {
    if (this.#dirtySince === null) return true;
    this.#timer?.cancel();
    this.#timer = null;
    let isWritten = false;
    logFailure("keeping counts", () => {
      this.#load();
      this.#rows.put({
        hour: this.#hour,
        since: this.since,
        routes: JSON.stringify(this.#tally.routes),
        taken: JSON.stringify(this.#taken),
        replays: JSON.stringify(this.#tally.replays),
      });
      isWritten = true;
      if (!this.#isMerged)
        this.#rows.mergeOldest(this.#hour, (texts) => JSON.stringify(addedUp(texts.flatMap(readRoutes))));
      this.#isMerged = true;
    });
    return this.#settle(isWritten);
  }

  #settle(isWritten: boolean): boolean {
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#isRefused = !isWritten;
    if (isWritten) {
      this.#dirtySince = null;
      waiting?.resolve();
    } else {
      waiting?.reject(new Error("the counts could not be written"));
      this.#timer = this.#timers.set(RETRY_MS, () => void this.write());
    }
    return isWritten;
  }

  /** Adds what earlier instances have stored of this hour. */
  #load(): void {
    if (this.#isLoaded) return;
    const stored = this.#rows.get(this.#hour);
    if (stored !== null) this.#tally.add({ routes: readRoutes(stored.routes), replays: readReplays(stored.replays) });
    const taken = this.#rows.taken(this.#hour).flatMap(readIds);
    this.#taken = [...new Set([...taken, ...this.#taken])].slice(-MOST_TAKEN);
    this.#isLoaded = true;
  }

  /** Resolves when all that is counted until now has been written; rejects if it could not be. */
  async written(isUrgent: boolean): Promise<void> {
    if (this.#dirtySince === null) return;
    const waiting = (this.#waiting ??= Promise.withResolvers());
    if (isUrgent) this.write();
    await waiting.promise;
  }

  /** Whether a batch comes for the first time. It counts as taken from then on, with what is counted in this turn. */
  takes(id: string, now: number): boolean {
    this.tallyAt(now);
    this.#load();
    if (this.#taken.includes(id)) return false;
    this.#taken = [...this.#taken, id].slice(-MOST_TAKEN);
    return true;
  }

  /**
   * All that was ever counted here. It is written first, so that it only rises. If it cannot be, it is shown all the same, and a crash may
   * lose what was shown.
   */
  total(): readonly RouteNumbers[] {
    this.#writeToShow();
    this.#others ??= addedUp(this.#rows.routesBut(this.#hour).flatMap(readRoutes));
    return addedUp([...this.#others, ...this.#tally.routes]);
  }

  /** Tells this object's numbers from those of one that had its name before, and whose database was lost; 0: nothing was counted. */
  get since(): number {
    return this.#rows.since ?? this.#since ?? NOTHING_COUNTED;
  }

  /** Whether the last row that was to be written could not be. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** The last day, without hours in which nothing was counted; the oldest first. */
  lastDay(now: number): readonly HourOfShard[] {
    this.#writeToShow();
    const current = hourOf(now);
    return this.#inLastDay(now, (hour) => this.#rows.routesFrom(hour), this.#tally.routes)
      .map(({ hour, own, stored }) => ({ at: Math.min(hour, current) * HOUR_MS, routes: own ?? readRoutes(stored) }))
      .filter(({ routes }) => routes.length > 0)
      .toSorted((one, other) => one.at - other.at);
  }

  /** How often the record was replayed in the last day; `null`: never, or not counted. */
  replaysOf(recordId: string, now: number): RecordReplays | null {
    this.#writeToShow();
    const record = replayedName(recordId);
    const stored = this.#inLastDay(now, (hour) => this.#rows.replaysFrom(hour), this.#tally.replays);
    const replays = stored.flatMap((one) => one.own ?? readReplays(one.stored));
    const sum = sumOfReplays(replays.filter((one) => one.record === record));
    return sum === null ? null : { ...sum, lastAt: Math.min(sum.lastAt, now) };
  }

  /** The hours of the last day: what is stored of each, or what is counted in the one that is not over. */
  #inLastDay<T>(now: number, read: (hour: number) => readonly StoredColumn[], own: T): readonly ColumnOfHour<T>[] {
    const first = hourOf(now) - SHOWN_HOURS + 1;
    const others = read(first).filter(({ hour }) => hour !== this.#hour);
    return [
      ...others.map(({ hour, text }) => ({ hour, stored: text, own: null })),
      ...(this.#hour < first ? [] : [{ hour: this.#hour, stored: "", own }]),
    ];
  }

  /** What is shown and then lost would make totals fall, so it is written first. */
  #writeToShow(): void {
    this.write();
    this.#load();
  }
}

function readRoutes(text: string): readonly RouteNumbers[] {
  return JSON.parse(text);
}

function readReplays(text: string): readonly RecordReplays[] {
  return JSON.parse(text);
}

function readIds(text: string): readonly string[] {
  return JSON.parse(text);
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}
