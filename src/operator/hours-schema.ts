// The operator API's answer about the last day. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { OUTCOMES } from "../kernel/record/outcome.ts";
import {
  A_TIME,
  withDescription,
  countSchema,
  notAskedShards,
  timeSchema,
  unreachableShards,
  wordsSchema,
  type WrittenBy,
} from "./schema-members.ts";

const latencySchema = v.object({
  count: withDescription(countSchema, "How many were measured.", 120),
  meanMs: withDescription(v.nullable(v.number()), "The mean, in milliseconds; null without any.", 41.5),
  p50Ms: withDescription(
    v.nullable(v.number()),
    "Half of them took no longer: the upper bound of a bin, in milliseconds; null without any.",
    50,
  ),
  p95Ms: withDescription(v.nullable(v.number()), "The same for 95 %. 30,000 also stands for all that is longer.", 100),
});

const routeHourSchema = v.object({
  route: withDescription(v.string(), "The path of the route, as configured.", "/v1/payments/*"),
  requests: withDescription(countSchema, "All requests.", 140),
  prevented: withDescription(
    countSchema,
    "Duplicates that did not reach the origin: replayed, attached, or refused because of the first request.",
    20,
  ),
  outcomes: withDescription(
    v.array(
      v.object({
        outcome: withDescription(wordsSchema(OUTCOMES), "What clients got.", "replay"),
        count: withDescription(countSchema, "How many.", 20),
      }),
    ),
    "Those that have occurred.",
  ),
  origin: withDescription(latencySchema, "From the call to the origin until its headers."),
  gateway: withDescription(latencySchema, "The rest of an exchange, without waiting for others."),
});

export const hoursSchema = v.object({
  hours: withDescription(
    v.array(
      v.object({
        at: withDescription(timeSchema, "The beginning of the hour.", A_TIME),
        routes: withDescription(v.array(routeHourSchema), "Routes with requests in this hour, sorted by their paths."),
      }),
    ),
    "The last 24 hours and the current one, the oldest first; without hours in which nothing was counted.",
  ),
  unreachable: unreachableShards,
  notAsked: notAskedShards,
});

export type HoursView = WrittenBy<typeof hoursSchema>;
export type RouteHourView = HoursView["hours"][number]["routes"][number];
