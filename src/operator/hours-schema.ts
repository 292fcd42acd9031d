// The operator API's answer about the last day. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { OUTCOMES } from "../kernel/record/outcome.ts";
import { A_TIME, about, count, time, unreachable, words, type Written } from "./schema-members.ts";

const latencySchema = v.object({
  count: about(count, "How many were measured.", 120),
  meanMs: about(v.nullable(v.number()), "The mean, in milliseconds; null without any.", 41.5),
  p50Ms: about(
    v.nullable(count),
    "Half of them took no longer: the upper bound of a bin, in milliseconds; null without any.",
    50,
  ),
  p95Ms: about(v.nullable(count), "The same for 95 %. 30,000 also stands for all that is longer.", 100),
});

const routeHourSchema = v.object({
  route: about(v.string(), "The path of the route, as configured.", "/v1/payments/*"),
  requests: about(count, "All requests.", 140),
  prevented: about(
    count,
    "Duplicates that did not reach the origin: replayed, attached, or refused because of the first request.",
    20,
  ),
  outcomes: about(
    v.array(
      v.object({
        outcome: about(words(OUTCOMES), "What clients got.", "replay"),
        count: about(count, "How many.", 20),
      }),
    ),
    "Those that have occurred.",
  ),
  origin: about(latencySchema, "From the call to the origin until its headers."),
  gateway: about(latencySchema, "The rest of an exchange, without waiting for others."),
});

export const hoursSchema = v.object({
  hours: about(
    v.array(
      v.object({
        at: about(time, "The beginning of the hour.", A_TIME),
        routes: about(v.array(routeHourSchema), "Routes with requests in this hour, sorted by their paths."),
      }),
    ),
    "The last 24 hours and the current one, the oldest first; without hours in which nothing was counted.",
  ),
  unreachable,
});

export type HoursView = Written<typeof hoursSchema>;
export type RouteHourView = HoursView["hours"][number]["routes"][number];
