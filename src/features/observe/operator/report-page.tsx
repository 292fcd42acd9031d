// The page of routes on trial: for each, what took effect twice, what enforcing would have answered, and what it would break.

import type { Hono } from "hono";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import { ConsolePage, showPage } from "../../../operator/console/page.tsx";
import { groupedDigits } from "../../../operator/console/rates.tsx";
import { UnreachableShards } from "../../../operator/console/shards.tsx";
import { DataTable } from "../../../operator/console/table.tsx";
import { TimeText } from "../../../operator/console/time.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";
import type { ReadReport } from "./read-report.ts";
import { DEFAULT_SINCE_MS } from "./report-query.ts";
import type { ReportLine, ReportView, RouteReportView } from "./report-schema.ts";
import { KIND_TITLES, modeText } from "./report-lines.ts";

export function reportRoutes(app: Hono<SignedRequest>, paths: ConsolePaths, report: ReadReport): void {
  app.get(paths.below("report"), async (c) =>
    showPage(<Report view={c.var.view} report={await report(DEFAULT_SINCE_MS)} />),
  );
}

function Report({ view, report }: { readonly view: ConsoleView; readonly report: ReportView }) {
  const { routes, unreachable, notAsked } = report;
  return (
    <ConsolePage view={view} place="report" title="Observed">
      <h1>Observed in the last 7 days</h1>
      <UnreachableShards view={view} unreachable={unreachable} notAsked={notAsked} />
      {routes.length === 0 ? <p class="empty">No route is observed (mode = "observe").</p> : null}
      {routes.map((one, at) => (
        <RouteReport view={view} report={one} id={`route-${at}`} />
      ))}
    </ConsolePage>
  );
}

interface RouteReportProps {
  readonly view: ConsoleView;
  readonly report: RouteReportView;
  readonly id: string;
}

function RouteReport({ view, report, id }: RouteReportProps) {
  const { route, seen, lines, examples } = report;
  return (
    <>
      <h2 id={id}>
        <span class="mono">{route}</span>
      </h2>
      <p class="soft">
        {modeText(report)} {groupedDigits(seen)} requests were looked at.
      </p>
      <section class="card">
        {lines.length === 0 ? (
          <p class="empty">Nothing to say yet.</p>
        ) : (
          <DataTable
            labelledBy={id}
            columns={[["What"], ["Requests", "num"], ["They"], ["Setting"]]}
            rows={lines.map((line) => lineCells(line))}
          />
        )}
      </section>
      {examples.length === 0 ? null : (
        <section class="card">
          <DataTable
            labelledBy={id}
            columns={[["Example of"], ["When", "when"], ["After", "when"], ["Request"], ["Key"]]}
            rows={examples.map(({ kind, at, earlierAt, method, status, key, keyHash }) => [
              kind,
              <TimeText at={Date.parse(at)} now={view.now} />,
              earlierAt === null ? "–" : <TimeText at={Date.parse(earlierAt)} now={view.now} />,
              `${method}, ${status ?? "no answer"}`,
              <span class="mono">{key ?? `hash ${keyHash.slice(0, 12)}`}</span>,
            ])}
          />
        </section>
      )}
    </>
  );
}

function lineCells({ kind, count, text, setting }: ReportLine) {
  return [
    KIND_TITLES[kind],
    count === null ? "" : groupedDigits(count),
    text,
    <span class="mono">{setting ?? ""}</span>,
  ];
}
