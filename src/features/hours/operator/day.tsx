// The last day, of all routes or of one: the duplicates that did not reach the origin, and charts by hour of requests, replays, conflicts,
// errors and times.

import type { Hono } from "hono";
import type { HoursView } from "../../../operator/hours-schema.ts";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import { BarChart, hourText, SparkLine } from "./charts.tsx";
import { type DayOfRoutes, dayOf, type DaySeries, type HourPoint } from "../../../operator/console/day-counts.ts";
import { ConsolePage, showPage } from "../../../operator/console/page.tsx";
import { groupedDigits } from "../../../operator/console/rates.tsx";
import { UnreachableShards } from "../../../operator/console/shards.tsx";
import { DataTable } from "../../../operator/console/table.tsx";
import { CountTile } from "../../../operator/console/tiles.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";

export function dayRoutes(app: Hono<SignedRequest>, paths: ConsolePaths, hours: () => Promise<HoursView>): void {
  app.get(paths.day, async (c) =>
    showPage(<Day view={c.var.view} day={await hours()} route={c.req.query("route") ?? null} />),
  );
}

interface DayProps {
  readonly view: ConsoleView;
  readonly day: HoursView;
  /** `null`: all. */
  readonly route: string | null;
}

function Day({ view, day, route }: DayProps) {
  const { all, routes } = dayOf(day, view.now);
  const { paths } = view;
  const shown = route === null ? all : routes.find((one) => one.route === route);
  return (
    <ConsolePage
      view={view}
      place="overview"
      title={route === null ? "The last 24 hours" : `The last 24 hours of ${route}`}
    >
      <div class="head">
        <h1>
          The last 24 hours{route === null ? null : " of "}
          {route === null ? null : <span class="mono">{route}</span>}
        </h1>
        {route === null ? null : (
          <span class="small">
            <a href={paths.listed({ route })}>Its records</a> · <a href={paths.day}>All routes</a>
          </span>
        )}
      </div>
      <UnreachableShards view={view} unreachable={day.unreachable} notAsked={day.notAsked} />
      {shown === undefined || shown.total.requests === 0 ? (
        <p class="empty">No requests were counted.</p>
      ) : (
        <>
          <Sums series={shown} />
          <Charts series={shown} isOfAll={route === null && routes.length > 1} />
        </>
      )}
      {route !== null || routes.length === 0 ? null : <ByRoute view={view} routes={routes} />}
    </ConsolePage>
  );
}

function Sums({ series: { total } }: { readonly series: DaySeries }) {
  return (
    <dl class="tiles two">
      <CountTile
        name="Duplicates prevented"
        count={total.prevented}
        says="replayed, attached or refused: none of them reached the origin"
      />
      <CountTile name="Requests" count={total.requests} says="to protected routes" />
    </dl>
  );
}

const COUNT_CHARTS = [
  ["Replays", "replays"],
  ["Conflicts", "conflicts"],
  ["Errors", "errors"],
] as const;

const LATENCY_CHARTS = [
  ["Origin", "originP95Ms", "originP50Ms"],
  ["Gateway", "gatewayP95Ms", "gatewayP50Ms"],
] as const;

function Charts({ series: { hours, total }, isOfAll }: { readonly series: DaySeries; readonly isOfAll: boolean }) {
  const bars = (full: Counted, part?: Counted) =>
    hours.map((hour) => ({
      at: hour.at,
      full: hour[full] ?? 0,
      part: part === undefined ? (hour[full] ?? 0) : (hour[part] ?? 0),
    }));
  const slowest = isOfAll ? ", slowest route" : "";
  return (
    <section class="card" aria-labelledby="hours-title">
      <div class="head">
        <h2 id="hours-title">By hour</h2>
        <span class="soft small">{hourText(hours[0]?.at ?? "")} UTC to now</span>
      </div>
      <div class="charts">
        <BarChart
          title="Requests"
          figure={groupedDigits(total.requests)}
          part="prevented"
          bars={bars("requests", "prevented")}
          unit=""
        />
        {COUNT_CHARTS.map(([title, counted]) => (
          <BarChart title={title} figure={groupedDigits(total[counted])} part="" bars={bars(counted)} unit="" />
        ))}
        {LATENCY_CHARTS.map(([who, p95, median]) => (
          <BarChart
            title={`${who}, 95%${slowest}`}
            figure={msText(total[p95])}
            part="median"
            bars={bars(p95, median)}
            unit=" ms"
          />
        ))}
      </div>
      <details>
        <summary>As a table</summary>
        <DataTable
          labelledBy="hours-title"
          columns={[["Hour, UTC"], ...COLUMNS.map(([name]) => [name, "num"] as const)]}
          rows={hours
            .filter(({ requests }) => requests > 0)
            .map((hour) =>
              [<>{hourText(hour.at)}</>].concat(COLUMNS.map(([, member, text]) => <>{text(hour[member])}</>)),
            )}
        />
      </details>
    </section>
  );
}

function ByRoute({ view: { paths }, routes }: { readonly view: ConsoleView; readonly routes: DayOfRoutes["routes"] }) {
  return (
    <section class="card" id="routes">
      <div class="head">
        <h2 id="routes-title">By route</h2>
        <span class="soft small">times: the worst hour's</span>
      </div>
      <DataTable
        labelledBy="routes-title"
        columns={[["Route"], ...COLUMNS.map(([name]) => [name, "num"] as const)]}
        rows={routes.map((one) => [<RouteLink paths={paths} route={one.route} />].concat(cellsOf(one)))}
      />
    </section>
  );
}

function RouteLink({ paths, route }: { readonly paths: ConsolePaths; readonly route: string }) {
  return (
    <a class="mono" href={`${paths.day}?${new URLSearchParams({ route }).toString()}`}>
      {route}
    </a>
  );
}

function cellsOf({ total, hours }: DaySeries) {
  return COLUMNS.map(([, member, text]) => (
    <span>
      {text(total[member])} <SparkLine values={hours.map((hour) => hour[member] ?? 0)} />
    </span>
  ));
}

type Counted = Exclude<keyof HourPoint, "at">;

const COLUMNS: readonly (readonly [name: string, member: Counted, text: (value: number | null) => string])[] = [
  ["Requests", "requests", countText],
  ["Prevented", "prevented", countText],
  ["Replays", "replays", countText],
  ["Conflicts", "conflicts", countText],
  ["Errors", "errors", countText],
  ["Origin, 95%", "originP95Ms", msText],
  ["Gateway, 95%", "gatewayP95Ms", msText],
];

function countText(count: number | null): string {
  return groupedDigits(count ?? 0);
}

function msText(ms: number | null): string {
  return ms === null ? "–" : `${groupedDigits(ms)} ms`;
}
