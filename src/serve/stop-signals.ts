// What a signal asks a server to do: the first one to finish what is in flight, a second one to end at once.

/** On Ctrl-C a process under npm gets the signal twice, from the terminal and from npm. Both count as one. */
const SAME_REQUEST_MS = 1_000;

export interface StopSignals {
  /** Aborts when the server should take no more requests and finish those in flight. */
  readonly drain: AbortSignal;
  /** Aborts when the server should end at once. */
  readonly end: AbortSignal;
}

/** `source` is the process; `nowMs` is a monotonic clock. */
export function stopSignals(source: Pick<NodeJS.EventEmitter, "on">, nowMs: () => number): StopSignals {
  const drain = new AbortController();
  const end = new AbortController();
  let firstAtMs = 0;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    source.on(signal, () => {
      if (!drain.signal.aborted) {
        firstAtMs = nowMs();
        drain.abort(signal);
      } else if (nowMs() - firstAtMs > SAME_REQUEST_MS) {
        end.abort(signal);
      }
    });
  }
  return { drain: drain.signal, end: end.signal };
}
