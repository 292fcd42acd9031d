// What the signals to a server ask for: the first to finish what is in flight, a second one to end at once.

/** On Ctrl-C a process under npm gets the signal twice, from the terminal and from npm; both are one request. */
const SAME_REQUEST_MS = 1_000;

export interface StopSignals {
  /** Aborted: take no more, finish what is in flight. */
  readonly drain: AbortSignal;
  /** Aborted: end at once. */
  readonly end: AbortSignal;
}

export function stopSignals(): StopSignals {
  const drain = new AbortController();
  const end = new AbortController();
  let firstAtMs = 0;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (!drain.signal.aborted) {
        firstAtMs = performance.now();
        drain.abort(signal);
      } else if (performance.now() - firstAtMs > SAME_REQUEST_MS) {
        end.abort(signal);
      }
    });
  }
  return { drain: drain.signal, end: end.signal };
}
