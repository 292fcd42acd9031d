// Time that passes only when nothing else is left to do, and chance that a test decides.

import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../../src/client/client-settings.ts";

/** A request from memory is answered within far fewer turns of the event loop. */
const IDLE_TURNS = 10;

export interface VirtualClock extends Clock {
  /** Lets time pass until the promise is settled. */
  settle<T>(promise: Promise<T>): Promise<T>;
}

export function virtualClock(random: () => number = () => 0.5): VirtualClock {
  let nowMs = 1_800_000_000_000;
  const timers = new Map<number, { readonly atMs: number; readonly callback: () => void }>();
  let nextId = 0;

  function fireEarliest(): void {
    const [earliest] = [...timers].toSorted(([, a], [, b]) => a.atMs - b.atMs);
    if (earliest === undefined) return;
    const [id, { atMs, callback }] = earliest;
    timers.delete(id);
    nowMs = Math.max(nowMs, atMs);
    callback();
  }

  return {
    now: () => nowMs,
    after(ms, callback) {
      const id = nextId;
      nextId += 1;
      timers.set(id, { atMs: nowMs + ms, callback });
      return () => void timers.delete(id);
    },
    random,
    async settle(promise) {
      const settled = promise.then(
        () => true,
        () => true,
      );
      while (!(await Promise.race([settled, idle()]))) fireEarliest();
      return promise;
    },
  };
}

/** Resolves with `false` when whatever goes on without a timer has come to its end. */
async function idle(): Promise<boolean> {
  for (let turns = 0; turns < IDLE_TURNS; turns += 1) await turn();
  return false;
}
