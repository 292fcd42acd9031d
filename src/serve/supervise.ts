// Keeps workerd running until it is told to stop. One that ends by itself is started again, later each time it fails
// soon: the records lie on disk, and what was in flight follows the route's `unknown`, as after any crash.

import { setTimeout as pause } from "node:timers/promises";

import type { StopSignals } from "./stop-signals.ts";
import { runWorkerd, type WorkerdCommand, type WorkerdRun } from "./workerd.ts";

/** Before the first new start; doubled with each that fails soon. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** One that has run for so long has not failed soon. */
const STEADY_MS = 60_000;

export interface Supervision {
  readonly command: (port: number) => WorkerdCommand;
  /** 0: whichever is free at the first start; that one from then on. */
  readonly port: number;
  /** Why nobody can listen on that port; `null` when it is free. */
  readonly whyNotListen: (port: number) => Promise<string | null>;
  readonly onListening: (port: number, pid: number | undefined) => void;
  readonly log: (line: string) => void;
}

/** Resolves with whether every exchange had ended when it stopped; `false` also where it could not start at all. */
export async function supervise(supervision: Supervision, signals: StopSignals): Promise<boolean> {
  const { command, whyNotListen, onListening, log } = supervision;
  let port = supervision.port;
  let hasListened = false;
  let pauseMs = FIRST_PAUSE_MS;
  // Read anew each time: it changes while this waits.
  const isStopping = (): boolean => signals.drain.aborted;
  while (!isStopping()) {
    const startedAtMs = performance.now();
    const obstacle = await whyNotListen(port);
    const run = obstacle === null ? runWorkerd(command(port), signals) : notRun(obstacle);
    const listening = await run.listening;
    if (listening !== null) {
      port = listening;
      hasListened = true;
      onListening(port, run.pid);
    }
    const { how, isClean } = await run.ended;
    if (isStopping()) {
      if (!isClean) log(`stopped; exchanges in flight were cut off (${how})`);
      return isClean;
    }
    if (!hasListened) {
      log(`workerd could not start (${how})`);
      return false;
    }
    if (performance.now() - startedAtMs > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
    log(`workerd ${obstacle === null ? "ended" : "could not start"} (${how}); starting it again in ${pauseMs} ms`);
    // Rejects when it is told to stop meanwhile: then there is nothing to finish.
    await pause(pauseMs, undefined, { signal: signals.drain }).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
  return true;
}

/** One that was not started, since it could not have listened. */
function notRun(obstacle: string): WorkerdRun {
  const ended = Promise.resolve({ how: obstacle, isClean: true });
  return { pid: undefined, listening: Promise.resolve(null), ended };
}
