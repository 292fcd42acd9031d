// What may be set, checked once; inner code never meets `undefined`.

import { REFUSED } from "./judge.ts";
import type { Backoff } from "./pause.ts";

/** What `fetch` is, wherever this runs. */
export type Fetch = (...request: Parameters<typeof fetch>) => Promise<Response>;

/** Time and chance, so that tests need neither. */
export interface Surroundings {
  readonly now: () => number;
  /** Calls back after so many milliseconds; returns what calls it off. */
  readonly after: (ms: number, callback: () => void) => () => void;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface ClientOptions {
  /** How many requests are sent at most: 6 by default. */
  readonly tries?: number;
  /** From the first request to the end, in milliseconds: 120,000 by default. No pause is begun that would end later. */
  readonly totalMs?: number;
  /** For one request until its whole answer: 30,000 by default. A retry finds what a slow one is still doing. */
  readonly tryMs?: number;
  /** Upper bound of the first pause, 500 by default; it doubles from try to try. */
  readonly firstPauseMs?: number;
  /** Upper bound of every pause but those that `Retry-After` asks for: 10,000 by default. */
  readonly maxPauseMs?: number;
  /**
   * `false` by default: the promise resolves when the whole body has come, so that a break inside it is retried too.
   * `true`: it resolves with the headers, as with `fetch`; `tryMs` and retries end there.
   */
  readonly streaming?: boolean;
  /** Statuses that say that the origin did not act, as the route has them in `refused`: by default the gateway's default. */
  readonly refused?: readonly number[];
  /** Sends the requests: the global `fetch` by default. */
  readonly fetch?: Fetch;
  /** The system's by default. */
  readonly surroundings?: Surroundings;
}

export interface Settings extends Backoff {
  readonly tries: number;
  readonly totalMs: number;
  readonly tryMs: number;
  readonly streaming: boolean;
  readonly refused: readonly number[];
  readonly fetch: Fetch;
  readonly surroundings: Surroundings;
}

/** More than this a timer does not take: it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const SYSTEM: Surroundings = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Throws a RangeError that names the option and what it may be. */
export function resolveOptions(options: ClientOptions): Settings {
  return {
    tries: whole("tries", options.tries ?? 6, 1),
    totalMs: milliseconds("totalMs", options.totalMs ?? 120_000, 1),
    tryMs: milliseconds("tryMs", options.tryMs ?? 30_000, 1),
    firstPauseMs: milliseconds("firstPauseMs", options.firstPauseMs ?? 500, 0),
    maxPauseMs: milliseconds("maxPauseMs", options.maxPauseMs ?? 10_000, 0),
    streaming: options.streaming ?? false,
    refused: options.refused ?? REFUSED,
    // Not taken as a method: browsers and Workers refuse a `fetch` that is called on another object.
    fetch: options.fetch ?? ((...request) => fetch(...request)),
    surroundings: options.surroundings ?? SYSTEM,
  };
}

function whole(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`${name} is ${value}; give a whole number of at least ${min}.`);
}

function milliseconds(name: string, value: number, min: number): number {
  if (value >= min && value <= MAX_TIMER_MS) return value;
  throw new RangeError(`${name} is ${value}; give milliseconds from ${min} to ${MAX_TIMER_MS}.`);
}
