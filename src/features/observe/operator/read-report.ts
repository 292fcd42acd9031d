// What was seen of routes on trial, over all objects: each says what it has counted, gathering objects say it for large layouts, and the operators' object
// has the examples.

import type { Hono } from "hono";

import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import { parseQuery } from "../../../operator/query.ts";
import { DAY_MS } from "../../../kernel/config/units.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { SIGHTING_CLASSES } from "../../../kernel/record/sighting.ts";
import type { WorkerKernel } from "../../../kernel/worker-feature.ts";
import { askHolders } from "../../../operator/ask-shards.ts";
import { isoTime } from "../../../operator/shard-pages.ts";
import { type DayCounts, OBSERVED_CALLS } from "../day-counts.ts";
import { EXAMPLES_CALL, type ObservedExample } from "../example.ts";
import { DEFAULT_SINCE_MS, REPORT_QUERY } from "./report-query.ts";
import { reportLines } from "./report-lines.ts";
import type { ReportView, RouteReportView } from "./report-schema.ts";

/** The counts of all days that `sinceMs` before now reaches into. */
export type ReadReport = (sinceMs: number) => Promise<ReportView>;

export function reportReader({
  namespace,
  directory,
  config,
  askOperators,
}: Pick<WorkerKernel, "namespace" | "directory" | "config" | "askOperators">): ReadReport {
  return async (sinceMs) => {
    const day = Math.floor((Date.now() - sinceMs) / DAY_MS);
    const since = day * DAY_MS;
    const [{ holders, unreachable, notAsked }, examples] = await Promise.all([
      askHolders(namespace, directory, "observe", (shard) => shard(OBSERVED_CALLS).observed()),
      askOperators(EXAMPLES_CALL, { since }),
    ]);
    const counts = holders.flatMap(({ held }) => held).filter((one) => one.day >= day);
    return { since: isoTime(since), routes: routesOf(config.routes, counts, examples), unreachable, notAsked };
  };
}

/** Those on trial, in the order of the configuration, then those of which something was seen before they were enforced. */
export function routesOf(
  configured: readonly Route[],
  counts: readonly DayCounts[],
  examples: readonly ObservedExample[],
): readonly RouteReportView[] {
  const onTrial = configured.filter(({ trial }) => trial !== null).map(({ path }) => path);
  const paths = [...new Set([...onTrial, ...counts.map(({ route }) => route).toSorted()])];
  return paths.map((path) => {
    const route = configured.find((one) => one.path === path && (one.trial !== null || !onTrial.includes(path)));
    const sums: Record<string, number> = {};
    for (const one of counts) {
      if (one.route !== path) continue;
      for (const [name, count] of Object.entries(one.counts)) sums[name] = (sums[name] ?? 0) + count;
    }
    const { trial = null } = route ?? {};
    return {
      route: path,
      protectedShare: route === undefined ? null : (trial?.protectedShare ?? 1),
      sample: trial?.sample ?? 1,
      seen: SIGHTING_CLASSES.reduce((all, name) => all + (sums[name] ?? 0), 0),
      counts: sums,
      lines: route === undefined ? [] : reportLines(route, sums),
      examples: examples.filter((one) => one.route === path).map(viewExample),
    };
  });
}

function viewExample({
  route: _route,
  at,
  earlierAt,
  ...example
}: ObservedExample): RouteReportView["examples"][number] {
  return { ...example, at: isoTime(at), earlierAt: earlierAt === null ? null : isoTime(earlierAt) };
}

/** The operation of the operator API. Any operator may read the report. */
export function addTrialReport(app: Hono<RequestVariables>, report: ReadReport): void {
  app.get("/report", async (context) => {
    const read = parseQuery(REPORT_QUERY, new URL(context.req.url).searchParams);
    if (!read.ok) return invalidRequest(read.reason);
    return context.json<ReportView>(await report(read.value.since ?? DEFAULT_SINCE_MS));
  });
}
