// Reports an exchange at its end: counts it, logs it, sends it to the dataset, writes it on the platform's span (platform-span.ts), and adds
// `Server-Timing` to the response. The log never holds a key, a body, a credential or a query, only the fields below.

import type { ClaimState } from "../record/claim.ts";
import type { DeadReason, DeliveryDecision } from "../record/delivery.ts";
import { isKnownTrouble, isTrouble, type LogRule, type ExchangeOutcome } from "../record/outcome.ts";
import { keyHashOf } from "../record/units.ts";
import { logFailure } from "./bookkeep.ts";
import { addReport, attributesOf, type PlatformSpan, type PlatformTracing, reportIn } from "./platform-span.ts";
import { HopMeter, type HopTimer, type MeasuredHop } from "./hop-meter.ts";
import { spanIdOf, type TraceContext } from "./trace-context.ts";
import type { ExchangeReport, TrafficCounters } from "./traffic.ts";

/** What the route reports, and the trace that its request belongs to. */
export interface RouteTelemetry {
  readonly log: LogRule;
  readonly serverTiming: boolean;
  readonly trace: TraceContext | null;
  /** Only where the platform records a trace of the request: the object reports to the Worker, whose span is the request's. */
  readonly isTraced?: true;
  /** Only where the Worker measures the way to the object: the object reports how long it worked. */
  readonly isMeasured?: true;
}

/** What is known about an exchange when it begins. */
export interface SpanStart {
  readonly route: string;
  /** `null` until it is known. */
  readonly recordId: string | null;
  /** Names it in the log, and in the problem that its client may get; `null` until it is known. */
  readonly instance: string | null;
  readonly telemetry: RouteTelemetry;
  readonly isFromContent?: boolean;
}

/** One exchange while it runs. */
export interface ExchangeSpan {
  readonly telemetry: RouteTelemetry;
  readonly route: string;
  /** `null` in an object, and where no trace is recorded. */
  readonly platformSpan: PlatformSpan | null;
  recordId: string | null;
  instance: string | null;
  attempt: number | null;
  /** The id of the attempt that this exchange has started. */
  attemptId: string | null;
  /** Whether the key is made from the request's content. */
  isFromContent: boolean;
  originMs: number | null;
  waitedMs: number;
  readonly at: number;
  /** By the monotonic clock. */
  readonly begunMs: number;
}

/** The part of an Analytics Engine dataset that is used here. */
export interface AnalyticsDataset {
  writeDataPoint(point: DataPoint): void;
}

export interface DataPoint {
  readonly indexes: readonly [string];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/** Where reports go besides the counters and the log. */
export interface ReporterPorts {
  readonly dataset?: AnalyticsDataset | null;
  readonly tracing?: PlatformTracing | undefined;
  /** Called after each exchange that is counted. */
  readonly counted?: () => void;
  /** Of an object: where it runs. */
  readonly place?: ObjectPlace;
}

/** Where an instance of an object runs. */
export interface ObjectPlace {
  /** The code of a data centre, or a word; `null`: not known yet. */
  readonly known: string | null;
  /** Finds it out, once. Takes two seconds at most, and never rejects. */
  readonly find: () => Promise<void>;
}

export class ExchangeReporter {
  readonly #where: string;
  readonly traffic: TrafficCounters;
  /** Of a Worker. */
  readonly hops = new HopMeter();
  readonly #ports: ReporterPorts;

  /** `where` is the name of the shard, or `worker`. */
  constructor(where: string, traffic: TrafficCounters, ports: ReporterPorts = {}) {
    this.#where = where;
    this.traffic = traffic;
    this.#ports = ports;
  }

  begin({ route, recordId, instance, telemetry, isFromContent = false }: SpanStart): ExchangeSpan {
    const begunMs = performance.now();
    const active = this.#ports.tracing?.getActiveSpan?.();
    const platformSpan = active?.isTraced === true ? active : null;
    // Nothing is spread into the span: each member after that would cost a call of the runtime (measured).
    return {
      telemetry: platformSpan === null ? telemetry : { ...telemetry, isTraced: true },
      route,
      platformSpan,
      recordId,
      instance,
      attempt: null,
      attemptId: null,
      isFromContent,
      originMs: null,
      waitedMs: 0,
      at: Date.now(),
      begunMs,
    };
  }

  /**
   * Reports an answered exchange. Returns the response, which the gateway must have made, since its headers are changed. Never
   * throws: an answer lost here would look as if the shard had failed, and the request would be sent again.
   */
  finish(span: ExchangeSpan, response: Response, outcome: ExchangeOutcome): Response {
    const { serverTiming, isTraced, isMeasured } = span.telemetry;
    const report = this.end(span, response.status, outcome);
    if (serverTiming && report !== null) logFailure("telling the timing", () => addServerTiming(response, report));
    const isWanted = isMeasured === true || (isTraced === true && span.platformSpan === null);
    if (isWanted && report !== null)
      logFailure("reporting to the Worker", () => this.#reportTo(response, span, report));
    return response;
  }

  /** Of an object. Where it runs is said from the second answer of an instance on: no answer waits for it. */
  #reportTo(
    response: Response,
    { telemetry: { serverTiming } }: ExchangeSpan,
    { outcome, attempt, durationMs }: ExchangeReport,
  ): void {
    const { place } = this.#ports;
    const known = serverTiming ? (place?.known ?? undefined) : undefined;
    if (serverTiming && known === undefined) void place?.find();
    addReport(response, { outcome, attempt, shard: this.#where, durationMs, place: known });
  }

  /**
   * Writes what an object has reported about the exchange on the platform's span, and measures the way to it. Returns what `Server-Timing` says of that,
   * if anything; `null`: the response has no report.
   */
  takeReport(
    { platformSpan, route, recordId, telemetry: { serverTiming } }: ExchangeSpan,
    timer: HopTimer | null,
    response: Response,
  ): { readonly timing: string | null } | null {
    const report = platformSpan === null && timer === null ? null : reportIn(response);
    if (report === null) return null;
    platformSpan?.setAttributes(attributesOf({ ...report, route, keyHash: keyHashIn(recordId) }));
    const hopMs = timer === null ? null : this.hops.end(timer, route, report.durationMs);
    return { timing: serverTiming && hopMs !== null ? hopTimingValue(hopMs, report.place) : null };
  }

  /** Counts what a Worker has measured. */
  hopped(hops: readonly MeasuredHop[] | undefined): void {
    for (const { route, ms } of hops ?? []) logFailure("counting a hop", () => this.traffic.hop(route, ms));
  }

  /** Reports an exchange whose answer is no response. Never throws; `null`: the report failed. */
  end(span: ExchangeSpan, status: number, outcome: ExchangeOutcome): ExchangeReport | null {
    let report: ExchangeReport | null = null;
    logFailure("reporting an exchange", () => (report = this.#report(span, status, outcome)));
    return report;
  }

  #report(span: ExchangeSpan, status: number, outcome: ExchangeOutcome): ExchangeReport {
    const durationMs = performance.now() - span.begunMs;
    const { at, route, recordId, attempt, originMs, waitedMs, telemetry } = span;
    const report = { at, route, recordId, outcome, status, attempt, durationMs, originMs, waitedMs };
    this.traffic.exchange(report, Date.now());
    if (span.isFromContent) this.traffic.fromContent(route, outcome);
    this.#ports.counted?.();
    const { log } = telemetry;
    if (log === "all" || (log === "errors" && isTrouble(outcome))) this.#log(span, report);
    this.#ports.dataset?.writeDataPoint(dataPointOf(report, keyHashIn(report.recordId), this.#where));
    const keyHash = keyHashIn(recordId);
    span.platformSpan?.setAttributes(attributesOf({ outcome, attempt, shard: this.#where, route, keyHash }));
    return report;
  }

  /** Counts a request without a key that went to the origin unchanged. */
  passed(route: string): void {
    logFailure("counting a request", () => {
      this.traffic.passed(route);
      this.#ports.counted?.();
    });
  }

  /** Notes that the tokens of a route's callers expire before their records do. */
  rotating(route: string): void {
    logFailure("noting a warning", () => {
      this.traffic.rotating(route);
      this.#ports.counted?.();
    });
  }

  /** Counts a decision about a message. `reason` is that of its dead letter. The caller hands the counts over. */
  delivered(route: string, decision: DeliveryDecision, reason: DeadReason | null): void {
    logFailure("counting a delivery", () => this.traffic.delivered(route, decision, reason));
  }

  /** Counts what a group of consumers was answered about its claims. */
  claimed(route: string, states: readonly ClaimState[]): void {
    logFailure("counting claims", () => {
      this.traffic.claimed(route, states);
      this.#ports.counted?.();
    });
  }

  /** Counts what was seen of a request that passed. */
  sighted(...seen: Parameters<TrafficCounters["sighted"]>): void {
    logFailure("counting a sighting", () => {
      this.traffic.sighted(...seen);
      this.#ports.counted?.();
    });
  }

  #log({ instance, telemetry: { trace }, attemptId, isFromContent }: ExchangeSpan, report: ExchangeReport): void {
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
      ...(isFromContent ? { keySource: "content" } : null),
      instance,
      traceId: trace?.traceId ?? null,
      spanId: trace === null || attemptId === null ? null : spanIdOf(attemptId),
    });
    if (isKnownTrouble(outcome)) console.warn(line);
    else if (isTrouble(outcome)) console.error(line);
    else console.log(line);
  }
}

function keyHashIn(recordId: string | null): string | null {
  return recordId === null ? null : keyHashOf(recordId);
}

/** The platform allows no longer index (Analytics Engine, "Limits"). A path is ASCII, so characters are bytes. */
const INDEX_BYTES = 96;

/** Queries name blobs and doubles by their position (README.md, "Analytics Engine"), so a new one goes to the end. */
export function dataPointOf(report: ExchangeReport, keyHash: string | null, where: string): DataPoint {
  const { route, outcome, status, attempt, durationMs, originMs, waitedMs } = report;
  return {
    indexes: [route.slice(0, INDEX_BYTES)],
    blobs: [route, outcome, where, keyHash ?? ""],
    doubles: [durationMs, originMs ?? -1, waitedMs, status, attempt ?? 0],
  };
}

/**
 * `Server-Timing` (W3C Server Timing): how an exchange spent its time, in whole milliseconds. It reveals no more than the client's
 * own clock and the other headers.
 */
export const TIMING_HEADER = "server-timing";

function addServerTiming({ headers }: Response, report: ExchangeReport): void {
  const { outcome } = report;
  // Replaces the origin's timing of the first exchange, which is wrong for this one.
  if (outcome === "replay" || outcome === "attached") headers.set(TIMING_HEADER, serverTimingValue(report));
  else headers.append(TIMING_HEADER, serverTimingValue(report));
}

export function serverTimingValue({ outcome, durationMs, originMs, waitedMs }: ExchangeReport): string {
  const origin = originMs === null ? "" : `origin;dur=${Math.round(originMs)}, `;
  const wait = waitedMs === 0 ? "" : `wait;dur=${Math.round(waitedMs)}, `;
  const gatewayMs = Math.max(0, durationMs - (originMs ?? 0) - waitedMs);
  return `${origin}${wait}gateway;dur=${Math.round(gatewayMs)}${outcome === "replay" ? ';desc="replay"' : ""}`;
}

/** The way from the Worker to the object and back, and where the object runs, if that is known. */
export function hopTimingValue(hopMs: number, place: string | undefined): string {
  const shard = place === undefined ? "" : `, shard;desc="${place.replaceAll(/[^\w?.:-]/g, "")}"`;
  return `hop;dur=${Math.round(hopMs)}${shard}`;
}

/** Notes how long a call to the origin takes until its response headers. On Cloudflare, clocks advance only with I/O. */
export async function timeOriginCall<T>(span: ExchangeSpan, call: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  const outcome = await call;
  span.originMs = performance.now() - begunMs;
  return outcome;
}

/** Notes how long an exchange waits for work that it does not do itself. */
export async function timeWait<T>(span: ExchangeSpan, other: Promise<T>): Promise<T> {
  const begunMs = performance.now();
  try {
    return await other;
  } finally {
    span.waitedMs += performance.now() - begunMs;
  }
}
