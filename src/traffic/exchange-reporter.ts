// Reports an exchange when it is over: counts it, logs it, sends it to the dataset, and tells the client where the time went. The
// log never holds a key, a body, a credential or a query, only the fields below.

import { isTrouble, type LogRule, type Outcome } from "../core/outcome.ts";
import { keyHashOf } from "../core/units.ts";
import { bookkeep } from "./bookkeep.ts";
import { type Dataset, dataPointOf } from "./data-point.ts";
import { spanIdOf, type Trace } from "./trace-context.ts";
import type { ExchangeReport, Traffic } from "./traffic.ts";

/** What a route wants to be reported, and the trace that its request is part of. */
export interface Telemetry {
  readonly log: LogRule;
  readonly serverTiming: boolean;
  readonly trace: Trace | null;
}

/** What is known of an exchange when it begins. */
export interface SpanStart {
  readonly route: string;
  /** `null` until it is known. */
  readonly recordId: string | null;
  readonly telemetry: Telemetry;
}

/** One exchange while it lasts. */
export interface ExchangeSpan extends Telemetry {
  readonly route: string;
  recordId: string | null;
  attempt: number | null;
  /** Of the attempt that this exchange has started. */
  attemptId: string | null;
  originMs: number | null;
  waitedMs: number;
  readonly at: number;
  /** By the clock that never goes back. */
  readonly begunMs: number;
}

export class ExchangeReporter {
  readonly #where: string;
  readonly traffic: Traffic;
  readonly #dataset: Dataset | null;
  readonly #counted: () => void;

  /** `where` is the name of the shard, or `worker`; `counted` is called after each exchange that is counted. */
  constructor(where: string, traffic: Traffic, dataset: Dataset | null, counted: () => void = () => undefined) {
    this.#where = where;
    this.traffic = traffic;
    this.#counted = counted;
    this.#dataset = dataset;
  }

  begin({ route, recordId, telemetry }: SpanStart): ExchangeSpan {
    const { log, serverTiming, trace } = telemetry;
    const begunMs = performance.now();
    const none = { attempt: null, attemptId: null, originMs: null, waitedMs: 0 };
    return { route, log, serverTiming, trace, recordId, ...none, at: Date.now(), begunMs };
  }

  /**
   * The exchange is answered. Returns the response, which must be of the gateway's own making. Never throws: an answer that is lost
   * here would look as if the shard had failed, and the request would be sent once more.
   */
  finish(span: ExchangeSpan, response: Response, outcome: Outcome): Response {
    bookkeep("telling of an exchange", () => this.#report(span, response, outcome));
    return response;
  }

  #report(span: ExchangeSpan, response: Response, outcome: Outcome): void {
    const durationMs = performance.now() - span.begunMs;
    const { at, route, recordId, attempt, originMs, waitedMs } = span;
    const { status } = response;
    const report = { at, route, recordId, outcome, status, attempt, durationMs, originMs, waitedMs };
    this.traffic.exchange(report, Date.now());
    this.#counted();
    if (span.serverTiming) addServerTiming(response, report);
    if (span.log === "all" || (span.log === "errors" && isTrouble(outcome))) this.#log(span, report);
    this.#dataset?.writeDataPoint(dataPointOf(report, keyHashIn(report.recordId), this.#where));
  }

  /** A request without a key has gone to the origin as it came. */
  passed(route: string): void {
    bookkeep("counting a request", () => {
      this.traffic.passed(route, Date.now());
      this.#counted();
    });
  }

  #log({ trace, attemptId }: ExchangeSpan, report: ExchangeReport): void {
    const { route, recordId, outcome, status, attempt, durationMs, originMs } = report;
    const line = JSON.stringify({
      message: "exchange",
      keyHash: keyHashIn(recordId),
      route,
      outcome,
      status,
      attempt,
      durationMs: Math.round(durationMs),
      originMs: originMs === null ? null : Math.round(originMs),
      shard: this.#where,
      traceId: trace?.traceId ?? null,
      spanId: trace === null || attemptId === null ? null : spanIdOf(attemptId),
    });
    if (isTrouble(outcome)) console.error(line);
    else console.log(line);
  }
}

function keyHashIn(recordId: string | null): string | null {
  return recordId === null ? null : keyHashOf(recordId);
}

/**
 * `Server-Timing` (W3C Server Timing): where the time of an exchange went, in whole milliseconds. It says no more than a client's
 * own clock and the other headers do.
 */
const TIMING_HEADER = "server-timing";

function addServerTiming({ headers }: Response, report: ExchangeReport): void {
  const { outcome } = report;
  // What the origin said of the first exchange does not hold for this one.
  if (outcome === "replay" || outcome === "attached") headers.set(TIMING_HEADER, serverTimingValue(report));
  else headers.append(TIMING_HEADER, serverTimingValue(report));
}

export function serverTimingValue({ outcome, durationMs, originMs, waitedMs }: ExchangeReport): string {
  const origin = originMs === null ? "" : `origin;dur=${Math.round(originMs)}, `;
  const wait = waitedMs === 0 ? "" : `wait;dur=${Math.round(waitedMs)}, `;
  const gatewayMs = Math.max(0, durationMs - (originMs ?? 0) - waitedMs);
  return `${origin}${wait}gateway;dur=${Math.round(gatewayMs)}${outcome === "replay" ? ';desc="replay"' : ""}`;
}

/** Notes how long a call to the origin takes, until the headers of its response. On Cloudflare, clocks stand still except for I/O. */
export async function timed<T>(span: ExchangeSpan, call: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  const outcome = await call;
  span.originMs = performance.now() - begunMs;
  return outcome;
}

/** Notes how long an exchange waits for what it does not do itself. */
export async function waited<T>(span: ExchangeSpan, other: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  try {
    return await other;
  } finally {
    span.waitedMs += performance.now() - begunMs;
  }
}
