// The options, checked and completed once; inner code never meets `undefined`.

import { REFUSED_STATUSES } from "./judge.ts";

/** The signature of `fetch`. */
export type Fetch = (...request: Parameters<typeof fetch>) => Promise<Response>;

/** Time and chance, so that tests control both. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Calls back after `ms` milliseconds; returns a function that cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
  /** A number in [0, 1). */
  readonly random: () => number;
}

export interface ClientOptions {
  /**
   * The most requests that are sent for one operation.
   * @defaultValue 6
   * @minimum 1
   */
  readonly tries?: number;
  /**
   * Milliseconds from the first request to the end. A pause that would end later is not begun.
   * @defaultValue 120_000
   */
  readonly totalMs?: number;
  /**
   * Milliseconds for one request, until its whole answer. The operation continues after that; the next try finds its answer.
   * @defaultValue 30_000
   */
  readonly tryMs?: number;
  /**
   * Upper bound of the first pause in milliseconds; it doubles with every try.
   * @defaultValue 500
   * @minimum 0
   */
  readonly firstPauseMs?: number;
  /**
   * Upper bound of every pause in milliseconds, except those that `Retry-After` asks for.
   * @defaultValue 10_000
   * @minimum 0
   */
  readonly maxPauseMs?: number;
  /**
   * `false`: resolve when the whole body has arrived, or its first 16 MiB, so that a break inside them is retried too. `true`: resolve with the
   * headers, as `fetch` does; `tryMs` and retries end there.
   * @defaultValue false
   */
  readonly streaming?: boolean;
  /**
   * Statuses that say that the origin did not act. Give the same list as the route's `refused`, with the statuses of a class one by one.
   * @defaultValue the gateway's default: 425, 429, 503, 521, 523, 525, 526, 530
   */
  readonly refused?: readonly number[];
  /**
   * Sends the requests, for example a service binding's `fetch`.
   * @defaultValue the global `fetch`
   */
  readonly fetch?: Fetch;
  /**
   * The clock, the timer and the source of random numbers.
   * @defaultValue the system's
   */
  readonly clock?: Clock;
}

export interface Backoff {
  /** Upper bound of the first pause. */
  readonly firstPauseMs: number;
  /** Upper bound of every pause, except one that `Retry-After` asks for. */
  readonly maxPauseMs: number;
}

export interface ClientSettings extends Backoff {
  readonly tries: number;
  readonly totalMs: number;
  readonly tryMs: number;
  readonly streaming: boolean;
  readonly refused: readonly number[];
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** The longest time of a timer: with a longer one it fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const SYSTEM: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** @throws {RangeError} naming the option and its bounds. */
export function resolveOptions(options: ClientOptions): ClientSettings {
  return {
    tries: wholeNumber("tries", options.tries ?? 6, 1),
    totalMs: wholeMilliseconds("totalMs", options.totalMs ?? 120_000, 1),
    tryMs: wholeMilliseconds("tryMs", options.tryMs ?? 30_000, 1),
    firstPauseMs: wholeMilliseconds("firstPauseMs", options.firstPauseMs ?? 500, 0),
    maxPauseMs: wholeMilliseconds("maxPauseMs", options.maxPauseMs ?? 10_000, 0),
    streaming: options.streaming ?? false,
    refused: options.refused ?? REFUSED_STATUSES,
    // Called as a function: browsers and Workers refuse a `fetch` that is called as a method of another object.
    fetch: options.fetch ?? ((...request) => fetch(...request)),
    clock: options.clock ?? SYSTEM,
  };
}

export function wholeNumber(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`${name} is ${value}; give a whole number of at least ${min}.`);
}

export function wholeMilliseconds(name: string, value: number, min: number): number {
  if (value >= min && value <= MAX_TIMER_MS) return value;
  throw new RangeError(`${name} is ${value}; give milliseconds from ${min} to ${MAX_TIMER_MS}.`);
}
