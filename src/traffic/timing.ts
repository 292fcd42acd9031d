// Notes how long the parts of an exchange took. On Cloudflare clocks stand still but for I/O: computing counts as nothing.

import type { ExchangeSpan } from "./exchange-reporter.ts";

/** A call to the origin, until the headers of its response. */
export async function timed<T>(span: ExchangeSpan, call: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  const outcome = await call;
  span.originMs = performance.now() - begunMs;
  return outcome;
}

/** What an exchange waits for and does not do itself. */
export async function waited<T>(span: ExchangeSpan, other: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  try {
    return await other;
  } finally {
    span.waitedMs += performance.now() - begunMs;
  }
}
