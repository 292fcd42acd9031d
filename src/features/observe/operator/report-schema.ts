// The operator API's answer about routes on trial. As in record-schema.ts, the Worker takes only types from here.

import * as v from "valibot";

import { EXAMPLE_KINDS } from "../../../kernel/record/sighting.ts";
import {
  A_TIME,
  countSchema,
  notAskedShards,
  timeSchema,
  unreachableShards,
  withDescription,
  wordsSchema,
  type WrittenBy,
} from "../../../operator/schema-members.ts";

/** What a line of the report says. */
export const LINE_KINDS = ["doubled", "gain", "break", "note"] as const;

const lineSchema = v.object({
  kind: withDescription(
    wordsSchema(LINE_KINDS),
    "doubled: what took effect more than once; gain: what enforcing would have answered itself; break: what enforcing would refuse, or not hold; note: what else to know.",
    "break",
  ),
  count: withDescription(v.nullable(countSchema), "How many requests; null: the line is not about a number.", 12),
  text: withDescription(v.string(), "What it is.", "would be refused with 422: the same key with another request"),
  setting: withDescription(v.nullable(v.string()), "The setting that decides it; null: none does.", "fingerprint"),
});

const exampleSchema = v.object({
  at: withDescription(timeSchema, "When the request came.", A_TIME),
  earlierAt: withDescription(
    v.nullable(timeSchema),
    "When the earlier request came that it is compared with; null without one.",
    A_TIME,
  ),
  kind: withDescription(wordsSchema(EXAMPLE_KINDS), "What it is an example of.", "doubled"),
  method: withDescription(v.string(), "Its method.", "POST"),
  status: withDescription(v.nullable(countSchema), "The API's answer; null: there was none.", 201),
  keyHash: withDescription(
    v.string(),
    "The hash of its key, or of its content if it has none.",
    "9f86d081884c7d659a2feaa0c55ad015",
  ),
  key: withDescription(
    v.nullable(v.string()),
    "Its key; null: it has none, or nothing is noted (note.request).",
    "order-1042",
  ),
});

const routeReportSchema = v.object({
  route: withDescription(v.string(), "The path of the route, as configured.", "/v1/payments/*"),
  protectedShare: withDescription(
    v.nullable(v.number()),
    "The share of keys that it protects; null: the route is no longer configured.",
    0.1,
  ),
  sample: withDescription(v.number(), "The share of keys that are looked at.", 1),
  seen: withDescription(countSchema, "The requests that were looked at.", 12_000),
  counts: withDescription(
    v.record(v.string(), countSchema),
    "By name: classes (first, replay …), effect:… what the API's answers say of effects, gap:… how long after the first its repeats came, and marks.",
    { first: 11_900, replay: 100, "effect:doubled": 3 },
  ),
  lines: withDescription(v.array(lineSchema), "What it means, the most important first."),
  examples: withDescription(v.array(exampleSchema), "Examples, newest first, at most 20 of each day."),
});

export const reportSchema = v.object({
  since: withDescription(timeSchema, "From when: the beginning of a day, in UTC.", "2026-11-14T00:00:00.000Z"),
  routes: withDescription(v.array(routeReportSchema), "Routes on trial, and others of which something was seen."),
  unreachable: unreachableShards,
  notAsked: notAskedShards,
});

export type ReportView = WrittenBy<typeof reportSchema>;
export type RouteReportView = ReportView["routes"][number];
export type ReportLine = RouteReportView["lines"][number];
