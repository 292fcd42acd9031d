// The last day: the duplicates that did not reach the origin, requests by hour, and each route's replays, conflicts, errors and times.

import type { Outcome } from "../../core/outcome.ts";
import type { HoursView, RouteHourView } from "../hours-schema.ts";
import { Page } from "./page.tsx";
import { grouped } from "./rates.tsx";
import { UnreachableShards } from "./shards.tsx";
import type { View } from "./view.ts";

const HOURS = 25;
const HOUR_MS = 3_600_000;

const CONFLICTS: readonly Outcome[] = ["in-flight", "mismatch"];
const ERRORS: readonly Outcome[] = [
  "origin-unreachable",
  "origin-dropped",
  "origin-timeout",
  "outcome-unknown",
  "store-unavailable",
  "attempts-exhausted",
  "unprotected",
];

interface RouteDay {
  readonly route: string;
  readonly requests: number;
  readonly prevented: number;
  readonly conflicts: number;
  readonly errors: number;
  /** The worst hour's, in milliseconds; `null`: nothing was measured. */
  readonly originP95Ms: number | null;
  readonly gatewayP95Ms: number | null;
}

export function Day({ view, day }: { readonly view: View; readonly day: HoursView }) {
  const routes = routesOf(day);
  const prevented = routes.reduce((sum, route) => sum + route.prevented, 0);
  const requests = routes.reduce((sum, route) => sum + route.requests, 0);
  return (
    <Page view={view} place="overview" title="The last 24 hours">
      <div class="head">
        <h1>The last 24 hours</h1>
      </div>
      <UnreachableShards unreachable={day.unreachable} />
      <dl class="tiles">
        <div>
          <dt>Duplicates prevented</dt>
          <dd class="n">{grouped(prevented)}</dd>
          <dd class="soft small">replayed, attached or refused: none of them reached the origin</dd>
        </div>
        <div>
          <dt>Requests</dt>
          <dd class="n">{grouped(requests)}</dd>
          <dd class="soft small">to protected routes</dd>
        </div>
      </dl>
      <section class="card">
        <div class="head">
          <h2>By hour</h2>
          <span class="soft small">UTC; the filled part of a bar was prevented</span>
        </div>
        <Bars view={view} day={day} />
      </section>
      <section class="card">
        <div class="head">
          <h2 id="routes-title">By route</h2>
        </div>
        {routes.length === 0 ? (
          <p class="empty">No requests were counted.</p>
        ) : (
          <table class="cards" aria-labelledby="routes-title">
            <thead>
              <tr>
                <th scope="col">Route</th>
                {COLUMNS.map(([name]) => (
                  <th scope="col" class="num">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {routes.map((route) => (
                <tr>
                  <th scope="row" class="mono">
                    {route.route}
                  </th>
                  {COLUMNS.map(([name, cell]) => (
                    <td class="num" data-label={name}>
                      {cell(route)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
    </Page>
  );
}

const COLUMNS: readonly (readonly [name: string, cell: (route: RouteDay) => string])[] = [
  ["Requests", ({ requests }) => grouped(requests)],
  ["Prevented", ({ prevented }) => grouped(prevented)],
  ["Conflicts", ({ conflicts }) => grouped(conflicts)],
  ["Errors", ({ errors }) => grouped(errors)],
  ["Origin, 95%", ({ originP95Ms }) => msText(originP95Ms)],
  ["Gateway, 95%", ({ gatewayP95Ms }) => msText(gatewayP95Ms)],
];

function Bars({ view, day }: { readonly view: View; readonly day: HoursView }) {
  const last = Math.floor(view.now / HOUR_MS);
  const bars = Array.from({ length: HOURS }, (_, back) => {
    const at = new Date((last - HOURS + 1 + back) * HOUR_MS).toISOString();
    const routes = day.hours.find((hour) => hour.at === at)?.routes ?? [];
    const sum = (of: (route: RouteHourView) => number): number => routes.reduce((all, route) => all + of(route), 0);
    return { at, requests: sum(({ requests }) => requests), prevented: sum(({ prevented }) => prevented) };
  });
  const most = Math.max(1, ...bars.map(({ requests }) => requests));
  const height = (count: number): string => ((100 * count) / most).toFixed(1);
  return (
    <>
      <svg
        class="day"
        viewBox={`0 0 ${HOURS * 10} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Requests by hour"
      >
        {bars.map(({ at, requests, prevented }, index) => (
          <g>
            <title>{`${hourText(at)}: ${grouped(requests)} requests, ${grouped(prevented)} prevented`}</title>
            <rect
              class="all"
              x={index * 10 + 1}
              y={100 - Number(height(requests))}
              width="8"
              height={height(requests)}
            />
            <rect
              class="prevented"
              x={index * 10 + 1}
              y={100 - Number(height(prevented))}
              width="8"
              height={height(prevented)}
            />
          </g>
        ))}
      </svg>
      <p class="soft small">
        {hourText(bars[0]?.at ?? "")} to now, at most {grouped(most)} requests in an hour
      </p>
    </>
  );
}

/** The busiest first. */
function routesOf({ hours }: HoursView): readonly RouteDay[] {
  const all = hours.flatMap(({ routes }) => routes);
  return [...Map.groupBy(all, ({ route }) => route)]
    .map(([route, parts]): RouteDay => {
      const sum = (of: (part: RouteHourView) => number): number => parts.reduce((total, part) => total + of(part), 0);
      const counted = (outcomes: readonly Outcome[]): number =>
        sum((part) =>
          part.outcomes.reduce((total, { outcome, count }) => total + (outcomes.includes(outcome) ? count : 0), 0),
        );
      return {
        route,
        requests: sum(({ requests }) => requests),
        prevented: sum(({ prevented }) => prevented),
        conflicts: counted(CONFLICTS),
        errors: counted(ERRORS),
        originP95Ms: worst(parts.map(({ origin }) => origin.p95Ms)),
        gatewayP95Ms: worst(parts.map(({ gateway }) => gateway.p95Ms)),
      };
    })
    .toSorted((one, other) => other.requests - one.requests);
}

function worst(values: readonly (number | null)[]): number | null {
  const measured = values.filter((value) => value !== null);
  return measured.length === 0 ? null : Math.max(...measured);
}

function msText(ms: number | null): string {
  return ms === null ? "–" : `${grouped(ms)} ms`;
}

/** `2026-11-23 08:00`. */
function hourText(iso: string): string {
  return iso.slice(0, 16).replace("T", " ");
}
