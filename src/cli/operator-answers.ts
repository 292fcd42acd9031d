// What the operator API answers, as far as the commands use it. Every answer is checked against these before anything is
// shown; what an answer has besides is left alone, so that a newer gateway can be operated too.

import * as v from "valibot";

export const STATES = ["started", "failed", "unknown", "completed"] as const;

const isoTime = v.pipe(v.string(), v.isoTimestamp());
const headerLine = v.tuple([v.string(), v.string()]);

const summaryEntries = {
  id: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  shard: v.string(),
  key: v.string(),
  route: v.string(),
  state: v.picklist(STATES),
  attempt: v.number(),
  startedAt: isoTime,
  lockedUntil: isoTime,
  expiresAt: v.nullable(isoTime),
  status: v.nullable(v.number()),
  responseKept: v.nullable(v.boolean()),
};

export const summarySchema = v.object(summaryEntries);

const eventSchema = v.union([
  v.object({ type: v.literal("verification"), attempt: v.number(), at: isoTime, answer: v.string() }),
  v.object({
    type: v.literal("attempt"),
    attempt: v.number(),
    startedAt: isoTime,
    endedAt: v.nullable(isoTime),
    verdict: v.nullable(v.string()),
    reason: v.nullable(v.string()),
    status: v.nullable(v.number()),
  }),
  v.object({
    type: v.literal("change"),
    action: v.string(),
    at: isoTime,
    by: v.string(),
    reason: v.string(),
  }),
]);

export const recordSchema = v.object({
  ...summaryEntries,
  /** A gateway of before has none. */
  description: v.optional(v.object({ headline: v.string(), retry: v.string(), advice: v.string() })),
  fingerprint: v.string(),
  policy: v.object({ unknown: v.string(), lockMs: v.number(), retentionMs: v.number() }),
  timeline: v.array(eventSchema),
  response: v.nullable(
    v.object({ status: v.number(), statusText: v.string(), headers: v.array(headerLine), sizeBytes: v.number() }),
  ),
});

export const pageSchema = v.object({
  records: v.array(summarySchema),
  cursor: v.nullable(v.string()),
  /** Shards that did not answer. A gateway of before has none: it refuses then. */
  silent: v.optional(v.array(v.string()), []),
});

export const exchangeSchema = v.object({
  at: isoTime,
  route: v.string(),
  /** Null where a request had no key that could name a record. */
  keyHash: v.nullable(v.string()),
  recordId: v.nullable(v.string()),
  outcome: v.string(),
  status: v.number(),
  attempt: v.nullable(v.number()),
  durationMs: v.number(),
  originMs: v.nullable(v.number()),
});

export const recentSchema = v.object({ exchanges: v.array(exchangeSchema), cursor: v.string() });

export const forgottenSchema = v.object({ forgotten: v.literal(true) });

export const endedSchema = v.object({ ended: v.literal(true) });

export const previewSchema = v.object({
  preview: v.object({
    status: v.number(),
    headers: v.array(headerLine),
    omittedHeaders: v.array(v.string()),
    sizeBytes: v.number(),
    body: v.nullable(v.string()),
    warnings: v.array(v.string()),
  }),
});

export type ResponsePreview = v.InferOutput<typeof previewSchema>["preview"];

/** RFC 9457, as the gateway writes it. */
export const problemSchema = v.object({ code: v.string(), detail: v.string() });

export type RecordSummary = v.InferOutput<typeof summarySchema>;
export type RecordDetail = v.InferOutput<typeof recordSchema>;
export type TimelineEvent = v.InferOutput<typeof eventSchema>;
export type RecordPage = v.InferOutput<typeof pageSchema>;
export type Exchange = v.InferOutput<typeof exchangeSchema>;
export type RecentExchanges = v.InferOutput<typeof recentSchema>;
