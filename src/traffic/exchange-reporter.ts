// What is said of an exchange when it is over: counted, logged, sent to the dataset, and told to the client. The log never
// holds a key, a body, a credential or a query: only what stands below.

import { isTrouble, type LogRule, type Outcome } from "../core/outcome.ts";
import { bookkeep } from "./bookkeep.ts";
import { type Dataset, dataPointOf } from "./data-point.ts";
import { addServerTiming } from "./server-timing.ts";
import { spanIdOf, type Trace } from "./trace-context.ts";
import type { ExchangeReport, Traffic } from "./traffic.ts";

/** What a route wants to be said, and the trace that its request is part of. */
export interface Telemetry {
  readonly log: LogRule;
  readonly serverTiming: boolean;
  readonly trace: Trace | null;
}

/** What is known of an exchange when it begins. */
export interface SpanStart {
  readonly route: string;
  /** `null` as long as it is not known. */
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

/** The first half of a record's name stands for its key (http/record-name.ts). */
const KEY_HASH_DIGITS = 32;

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
   * The exchange is answered. Gives the response back, which has to be one of the gateway's own making. Never throws: an
   * answer that is lost here would look as if the shard had failed, and a request be sent once more for it.
   */
  finish(span: ExchangeSpan, response: Response, outcome: Outcome): Response {
    // An answer that is lost here would look as if the shard had failed, and a request be sent once more for it.
    bookkeep("telling of an exchange", () => this.#tell(span, response, outcome));
    return response;
  }

  #tell(span: ExchangeSpan, response: Response, outcome: Outcome): void {
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
  return recordId === null ? null : recordId.slice(0, KEY_HASH_DIGITS);
}
