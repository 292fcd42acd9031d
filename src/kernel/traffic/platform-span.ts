// What the platform's own trace of a request says of its exchange. It is written by the Worker, on the span of the request: where several requests
// come to an object at once, the runtime takes the span of the latest for the span of each. So the object reports to the Worker, in a header, and
// only if the Worker says that a trace is recorded, or that it measures the way to the object (hop-meter.ts).

import * as v from "valibot";

/** The part of `tracing` of `cloudflare:workers` that is used here. A runtime from before September 2026 lacks the function. */
export interface PlatformTracing {
  getActiveSpan?(): PlatformSpan | undefined;
}

/** A span of the platform's own trace. */
export interface PlatformSpan {
  /** Whether the trace is recorded. */
  readonly isTraced: boolean;
  setAttributes(attributes: SpanAttributes): unknown;
}

/** A name without a value is left out. */
export type SpanAttributes = Record<string, string | number | undefined>;

export interface SpanReport {
  readonly outcome: string;
  readonly attempt: number | null;
  readonly shard: string;
  /** How long the object worked; absent: an older version of it does not say. */
  readonly durationMs?: number | undefined;
  /** Where the object runs; absent: not known, or nobody is to see it. */
  readonly place?: string | undefined;
}

/** As the log's line has them. */
export function attributesOf(
  report: SpanReport & { readonly route: string; readonly keyHash: string | null },
): SpanAttributes {
  return {
    "onceway.route": report.route,
    "onceway.outcome": report.outcome,
    "onceway.attempt": report.attempt ?? undefined,
    "onceway.key_hash": report.keyHash ?? undefined,
    "onceway.shard": report.shard,
  };
}

/** From an object to the Worker. No client ever sees it. */
export const REPORT_HEADER = "Onceway-Report";

const reportSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    outcome: v.string(),
    attempt: v.nullable(v.number()),
    shard: v.string(),
    durationMs: v.optional(v.number()),
    place: v.optional(v.string()),
  }),
);

/** Names are ASCII, as headers must be. */
export function addReport({ headers }: Response, { outcome, attempt, shard, durationMs, place }: SpanReport): void {
  headers.set(REPORT_HEADER, JSON.stringify({ outcome, attempt, shard, durationMs, place }));
}

/** `null`: the response has none. */
export function reportIn({ headers }: Response): SpanReport | null {
  const read = v.safeParse(reportSchema, headers.get(REPORT_HEADER));
  return read.success ? read.output : null;
}
