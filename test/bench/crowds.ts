// How much of the gateway's memory many simultaneous clients take, each of which alone costs next to nothing: waiting
// duplicates, and clients that do not read their answers.

import { setTimeout as pause } from "node:timers/promises";
import { freshKey } from "../support/http.ts";
import { exchange, MIB, standStill } from "./requests.ts";
import type { Scenario } from "./scenarios.ts";

const short = process.argv.includes("--short");

/** How long the first answer is held, so that all duplicates arrive before it; and how long the clients read nothing. */
const HELD_MS = short ? 2000 : 4000;
const STILL_MS = 1000;

/** As `Retry-After` says. */
const COME_AGAIN_MS = 1000;

interface Waiting {
  readonly count: number;
  readonly requestBytes: number;
  readonly answerBytes: number;
}

/** Duplicates that wait for one answer, and then read it. */
export function waiting(name: string, { count, requestBytes, answerBytes }: Waiting): Scenario {
  return {
    name,
    bytes: count * (requestBytes + answerBytes),
    onlyGateway: true,
    run: async (url) => {
      const key = freshKey();
      const path = `/bytes?size=${answerBytes}&after=${HELD_MS}`;
      const one = (): Promise<unknown> => exchange(url, { path, key, upload: requestBytes });
      await Promise.all(Array.from({ length: count + 1 }, () => untilAnswered(one)));
    },
  };
}

/** A hundred wait for one key; the others get in-flight and retry. */
async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (!String(error).includes('"code":"in-flight"')) throw error;
      await pause(COME_AGAIN_MS);
    }
  }
}

interface Unread {
  readonly count: number;
  readonly bytes: number;
  /** How many records they ask for. */
  readonly keys: number;
  /** Whether the unread answers are the first ones. */
  readonly first?: boolean;
}

/** Answers that their clients do not read. */
export function unread(name: string, { count, bytes, keys, first = false }: Unread): Scenario {
  return {
    name,
    bytes: count * bytes,
    onlyGateway: true,
    run: async (url) => {
      const path = `/bytes?size=${bytes}`;
      const stored = Array.from({ length: keys }, () => freshKey());
      if (!first) for (const key of stored) await exchange(url, { path, key });
      const end = new AbortController();
      try {
        await Promise.all(
          Array.from({ length: count }, (_, at) => standStill(url, { path, key: stored[at % keys] ?? "" }, end.signal)),
        );
        await pause(STILL_MS);
      } finally {
        end.abort();
      }
    },
  };
}

/** Requests with different keys that are under way at once. */
export function manyRequests(name: string, count: number, requestBytes: number): Scenario {
  return {
    name,
    bytes: count * requestBytes,
    onlyGateway: true,
    run: async (url) => {
      const path = `/bytes?size=2&after=${HELD_MS}`;
      await Promise.all(Array.from({ length: count }, () => exchange(url, { path, upload: requestBytes })));
    },
  };
}

export const CROWDS: readonly Scenario[] = [
  waiting("50 waiting duplicates of a request of 1 MB", { count: 50, requestBytes: 1_000_000, answerBytes: 2 }),
  waiting("200 waiting duplicates of a request of 1 MB", { count: 200, requestBytes: 1_000_000, answerBytes: 2 }),
  waiting("600 waiting duplicates of a request of 60 KB", { count: 600, requestBytes: 60_000, answerBytes: 2 }),
  waiting("600 waiting for an answer of 250 KB", { count: 600, requestBytes: 2, answerBytes: 250_000 }),
  manyRequests("200 requests of 1 MB at once", 200, 1_000_000),
  manyRequests("100 requests of 2 MB at once", 100, 2_000_000),
  unread("600 unread replays of 2 MB", { count: 600, bytes: 2 * MIB, keys: 1 }),
  unread("600 unread replays of 2 MB, of 600 keys", { count: 600, bytes: 2 * MIB, keys: 600 }),
  unread("600 unread replays of 250 KB", { count: 600, bytes: 250_000, keys: 1 }),
  unread("600 unread replays of 250 KB, of 600 keys", { count: 600, bytes: 250_000, keys: 600 }),
  unread("600 unread first answers of 250 KB", { count: 600, bytes: 250_000, keys: 600, first: true }),
  unread("250 unread first answers of 8 MB", { count: 250, bytes: 8 * MIB, keys: 250, first: true }),
];
