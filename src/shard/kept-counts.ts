// Keeps what this object counts, so that operators see all of it even if the object leaves memory: a row for each hour.
//
//   counted      ─ SOON_MS ─►  written      ─ at least EVERY_MS ─►  written   …
//   a fact                  ►  written in the same turn, so in the commit of what it counts
//   shown to an operator    ►  written before
//
// A crash loses what was counted since the last row, at most EVERY_MS of it. An object that has just answered stays in memory for
// longer than that.

import { bookkeep } from "../traffic/bookkeep.ts";
import { addedUp, type RouteNumbers } from "../traffic/route-counters.ts";
import { type RecordReplays, replayedName, sumOfReplays } from "../traffic/replay-counts.ts";
import { Tally } from "../traffic/tally.ts";
import type { CountKeeper } from "../traffic/traffic.ts";
import { type CountRows, KEPT_HOURS, type StoredHour } from "./store/counts.ts";
import type { Due, Timers } from "./timers.ts";

const HOUR_MS = 3_600_000;

/** The first row after a pause. */
export const SOON_MS = 2000;

/** The time between two rows while an object is busy. */
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

export class KeptCounts implements CountKeeper {
  readonly #rows: CountRows;
  readonly #timers: Timers;
  #hour = hourOf(Date.now());
  /** What this instance has counted in the hour; with what is stored of it, once that `isLoaded`. */
  #tally = new Tally();
  #taken: string[] = [];
  #isLoaded = false;
  /** Whether the hours that are too old have been added up since the hour began. */
  #isMerged = false;
  #isDirty = false;
  /** All other hours, once somebody has asked. */
  #others: readonly RouteNumbers[] | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: Due | null = null;
  #isTurnOver = true;
  #waiting: PromiseWithResolvers<void> | null = null;

  constructor(rows: CountRows, timers: Timers) {
    this.#rows = rows;
    this.#timers = timers;
  }

  tallyAt(now: number): Tally {
    const hour = hourOf(now);
    // An hour that cannot be written continues: better in the wrong hour than nowhere.
    if (hour !== this.#hour && this.write()) {
      this.#hour = hour;
      this.#tally = new Tally();
      this.#isLoaded = false;
      this.#isMerged = false;
      this.#others = null;
    }
    return this.#tally;
  }

  counted(isFact: boolean): void {
    this.#isDirty = true;
    if (isFact) this.#writeWithTurn();
    else this.#writeAfter(Math.max(SOON_MS, this.#writtenAt + EVERY_MS - performance.now()));
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
    this.#timer ??= this.#timers.set(ms, () => void this.write());
  }

  /** For the alarm, which writes rows anyway. */
  writeIfDue(): void {
    if (performance.now() >= this.#writtenAt + EVERY_MS) this.write();
  }

  /** Writes what is not written yet. Whether all is. */
  write(): boolean {
    if (!this.#isDirty) return true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#writtenAt = performance.now();
    bookkeep("keeping counts", () => {
      this.#load();
      this.#rows.put({
        hour: this.#hour,
        routes: JSON.stringify(this.#tally.routes),
        taken: JSON.stringify(this.#taken),
        replays: JSON.stringify(this.#tally.replays),
      });
      this.#isDirty = false;
      if (!this.#isMerged) {
        this.#rows.mergeOld(this.#hour, (texts) => JSON.stringify(addedUp(texts.flatMap(readRoutes))));
      }
      this.#isMerged = true;
    });
    return this.#settle();
  }

  /** Whether all is written. */
  #settle(): boolean {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (!this.#isDirty) {
      waiting?.resolve();
      return true;
    }
    waiting?.reject(new Error("the counts could not be written"));
    this.#writeAfter(RETRY_MS);
    return false;
  }

  /** Adds what earlier instances have stored of this hour. */
  #load(): void {
    if (this.#isLoaded) return;
    const stored = this.#rows.get(this.#hour);
    if (stored !== null) this.#tally.add({ routes: readRoutes(stored.routes), replays: readReplays(stored) });
    const taken = [this.#rows.lastTaken(), stored?.taken].flatMap((text) => readIds(text ?? "[]"));
    this.#taken = [...new Set([...taken, ...this.#taken])].slice(-MOST_TAKEN);
    this.#isLoaded = true;
  }

  /** Resolves when all that is counted until now has been written; rejects if it could not be. */
  async written(isUrgent: boolean): Promise<void> {
    if (!this.#isDirty) return;
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

  /** All that was ever counted here. Only rises, because it is written first. Throws if it cannot be. */
  total(): readonly RouteNumbers[] {
    this.#writeToShow();
    this.#others ??= addedUp(this.#rows.routesBut(this.#hour).flatMap(readRoutes));
    return addedUp([...this.#others, ...this.#tally.routes]);
  }

  /** Tells this object's numbers from those of one that had its name before, and whose database was lost. */
  get since(): number {
    return this.#rows.since ?? 0;
  }

  /** The last day, without hours in which nothing was counted; the oldest first. */
  lastDay(now: number): readonly HourOfShard[] {
    this.#writeToShow();
    return this.#rows
      .from(hourOf(now) - KEPT_HOURS + 1)
      .map(({ hour, routes }) => ({ at: hour * HOUR_MS, routes: readRoutes(routes) }))
      .filter(({ routes }) => routes.length > 0);
  }

  /** How often the record was replayed in the last day; `null`: never, or not counted. */
  replaysOf(recordId: string, now: number): RecordReplays | null {
    this.#writeToShow();
    const record = replayedName(recordId);
    const stored = this.#rows.from(hourOf(now) - KEPT_HOURS + 1);
    return sumOfReplays(stored.flatMap(readReplays).filter((one) => one.record === record));
  }

  /** What is shown and then lost would make totals fall. */
  #writeToShow(): void {
    if (!this.write()) throw new Error("the counts could not be written, so none are shown");
    this.#load();
  }
}

function readRoutes(text: string): readonly RouteNumbers[] {
  return JSON.parse(text);
}

function readReplays({ replays }: Pick<StoredHour, "replays">): readonly RecordReplays[] {
  return JSON.parse(replays);
}

function readIds(text: string): readonly string[] {
  return JSON.parse(text);
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}
