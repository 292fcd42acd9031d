// Notes how long the parts of an exchange took. On Cloudflare clocks stand still but for I/O: computing counts as nothing.

import type { Observed } from "./watch.ts";

/** A call to the origin, until the headers of its response. */
export async function timed<T>(observed: Observed, call: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  const outcome = await call;
  observed.originMs = performance.now() - begunMs;
  return outcome;
}

/** What an exchange waits for and does not do itself. */
export async function waited<T>(observed: Observed, other: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  try {
    return await other;
  } finally {
    observed.waitedMs += performance.now() - begunMs;
  }
}
