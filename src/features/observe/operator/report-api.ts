// The operation of the operator API on routes on trial. Any operator may read it.

import type { Hono } from "hono";

import { invalidRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import { parseQuery } from "../../../operator/query.ts";
import type { ReadReport } from "./read-report.ts";
import { DEFAULT_SINCE_MS, REPORT_QUERY } from "./report-query.ts";
import type { ReportView } from "./report-schema.ts";

export function addTrialReport(app: Hono<RequestVariables>, report: ReadReport): void {
  app.get("/report", async (context) => {
    const read = parseQuery(REPORT_QUERY, new URL(context.req.url).searchParams);
    if (!read.ok) return invalidRequest(read.reason);
    return context.json<ReportView>(await report(read.value.since ?? DEFAULT_SINCE_MS));
  });
}
