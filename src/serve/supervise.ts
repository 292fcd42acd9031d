// Keeps workerd running until a signal stops it. If workerd ends by itself, it is restarted, after a pause that doubles while
// it keeps failing early. A restart loses no record, because they are on disk; an attempt in flight follows the route's
// `unknown`, as after any crash.

import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import type { StopSignals } from "./stop-signals.ts";
import { runWorkerd, type WorkerdCommand, type WorkerdRun } from "./workerd.ts";

/** The pause before a restart; it doubles with each run that fails early. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 30_000;
/** A run that lasted longer than this did not fail early. */
const STABLE_MS = 60_000;

export interface WorkerdSupervision {
  readonly command: (port: number) => WorkerdCommand;
  readonly host: string;
  /** 0: any free port at the first start, and the same one after that. */
  readonly port: number;
  readonly onListening: (port: number, pid: number | undefined) => void;
  readonly log: (line: string) => void;
}

/** Resolves with `true` if every exchange had ended when it stopped; with `false` also if workerd could not start at all. */
export async function superviseWorkerd(supervision: WorkerdSupervision, signals: StopSignals): Promise<boolean> {
  const { command, host, onListening, log } = supervision;
  let port = supervision.port;
  let hasListened = false;
  let pauseMs = MIN_PAUSE_MS;
  // A function, because the value changes while this waits.
  const isStopping = (): boolean => signals.drain.aborted;
  while (!isStopping()) {
    const startedAtMs = performance.now();
    const obstacle = await listenObstacle(host, port);
    const run = obstacle === null ? runWorkerd(command(port), signals) : notStarted(obstacle);
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
    if (performance.now() - startedAtMs > STABLE_MS) pauseMs = MIN_PAUSE_MS;
    log(`workerd ${obstacle === null ? "ended" : "could not start"} (${how}); restarting it in ${pauseMs} ms`);
    // Rejects if a signal arrives during the pause; then nothing is in flight, and the loop ends.
    await pause(pauseMs, undefined, { signal: signals.drain }).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
  return true;
}

/** A run that was not started, because it could not have listened. */
function notStarted(obstacle: string): WorkerdRun {
  const ended = Promise.resolve({ how: obstacle, isClean: true });
  return { pid: undefined, listening: Promise.resolve(null), ended };
}

/**
 * Why workerd cannot listen there, and what the user should change; `null` if it can. Listens for a moment to find out, because
 * workerd itself only says that it failed.
 */
function listenObstacle(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error) => resolve(reason("code" in error ? error.code : null, error.message)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });

  function reason(code: unknown, message: string): string {
    switch (code) {
      case "EADDRINUSE":
        return `port ${port} on ${host} is in use by another program: stop it, or choose another port with --port`;
      case "EACCES":
        return `this user may not listen on port ${port} of ${host}: choose a port above 1023 with --port`;
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
        return `${host} is not an address of this machine`;
      default:
        return `cannot listen on port ${port} of ${host}: ${message}`;
    }
  }
}
