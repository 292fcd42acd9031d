// Virtual time: it stands still until a step moves it, and a due timer waits until a step fires it. So a timer may fire
// late, as in a busy runtime, and the clock may go back a little, as clocks of machines do. It may also be ahead of what a right clock
// shows, by seconds or by years: timers take no notice, since they follow a clock that nobody sets.

import { AsyncLocalStorage } from "node:async_hooks";

/** Whose code runs: its timers end with it. */
export const owners = new AsyncLocalStorage<object>();

export interface Timer {
  dueMs: number;
  readonly periodMs: number | null;
  readonly fire: () => void;
  readonly owner: object | undefined;
}

export class Clock {
  /** What `Date.now()` returns. */
  nowMs: number;
  /** The latest time so far. What has expired by then may be gone, even if the clock goes back later. */
  latestMs: number;
  /** The same by a right clock. */
  latestRightMs: number;
  /** By how much it is ahead now. */
  aheadMs = 0;
  /** What it showed when it had been put right last. */
  correctedMs: number;
  /** The latest time of each stretch from one correction to the next. */
  readonly #latest: number[];
  #timers: Timer[] = [];
  #ids = 0;

  constructor(startMs: number) {
    this.nowMs = startMs;
    this.latestMs = startMs;
    this.latestRightMs = startMs;
    this.correctedMs = startMs;
    this.#latest = [startMs];
  }

  /** What a right clock shows. */
  get rightMs(): number {
    return this.nowMs - this.aheadMs;
  }

  /** How often it has been put right. */
  get corrections(): number {
    return this.#latest.length - 1;
  }

  /** The latest time that something has seen which began after so many corrections. */
  latestSince(corrections: number): number {
    return Math.max(...this.#latest.slice(corrections));
  }

  /** A unique id. */
  nextId(): string {
    this.#ids += 1;
    return `id${this.#ids}`;
  }

  moveTo(ms: number): void {
    this.nowMs = ms;
    this.latestMs = Math.max(this.latestMs, ms);
    this.latestRightMs = Math.max(this.latestRightMs, this.rightMs);
    const last = this.corrections;
    this.#latest[last] = Math.max(this.#latest[last] ?? ms, ms);
  }

  /** Somebody sets the clock: it is ahead by so much, or by nothing. */
  setAhead(ms: number): void {
    const byMs = ms - this.aheadMs;
    this.aheadMs = ms;
    for (const timer of this.#timers) timer.dueMs += byMs;
    if (byMs < 0) {
      this.correctedMs = this.nowMs + byMs;
      this.#latest.push(this.correctedMs);
    }
    // No two promises are made in the same millisecond because of it.
    this.moveTo(this.nowMs + byMs + 1);
  }

  set(fire: () => void, delayMs: number, repeats: boolean): Timer {
    // Clocks of machines show whole milliseconds.
    const timer = {
      dueMs: this.nowMs + Math.ceil(delayMs),
      periodMs: repeats ? delayMs : null,
      fire,
      owner: owners.getStore(),
    };
    this.#timers.push(timer);
    return timer;
  }

  clear(timer: Timer): void {
    const at = this.#timers.indexOf(timer);
    if (at >= 0) this.#timers.splice(at, 1);
  }

  /** Removes all timers: they end with the object that set them. */
  clearAll(): void {
    this.#timers = [];
  }

  /** Removes the timers that this owner's code has set. */
  clearOf(owner: object): void {
    this.#timers = this.#timers.filter((timer) => timer.owner !== owner);
  }

  /** How many timers are set. */
  get count(): number {
    return this.#timers.length;
  }

  /** The timer that is due first. Among equals, the one that was set first. */
  next(): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) if (next === null || timer.dueMs < next.dueMs) next = timer;
    return next;
  }

  /** Fires one timer. An exception in it affects nothing else, as in the runtime. */
  fire(timer: Timer): void {
    if (timer.periodMs === null) this.clear(timer);
    else timer.dueMs = this.nowMs + timer.periodMs;
    try {
      if (timer.owner === undefined) timer.fire();
      else owners.run(timer.owner, timer.fire);
    } catch {
      // The runtime logs it and goes on.
    }
  }
}
