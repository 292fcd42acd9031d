// Replays and conflicts of each route, as bars with figures.

import type { RouteRates } from "./traffic.ts";
import type { ConsoleView } from "./view.ts";

/** The busiest routes; the metrics have all. */
const SHOWN_ROUTES = 8;

interface RatesProps {
  readonly view: ConsoleView;
  readonly rates: readonly RouteRates[];
  /** Whether there are records that are not completed: their requests may have come in the last day. */
  readonly hasOpen: boolean;
}

export function TrafficRates({ view, rates, hasOpen }: RatesProps) {
  if (rates.length === 0) {
    return (
      <p class="empty">
        No protected requests were counted in the last 24 hours.
        {hasOpen
          ? " A request is counted when it is answered: one that was not, or in the last seconds before a crash, may have a record above and no count here."
          : null}
      </p>
    );
  }
  return (
    <table class="cards bars" aria-labelledby="rates-title">
      <thead>
        <tr>
          <th scope="col">Route</th>
          <th scope="col" class="num">
            Requests
          </th>
          <th scope="col">Replays</th>
          <th scope="col">Conflicts</th>
        </tr>
      </thead>
      <tbody>
        {rates.slice(0, SHOWN_ROUTES).map(({ route, requests, replays, conflicts }) => (
          <tr>
            <th scope="row" class="mono">
              <a href={view.paths.listed({ route })}>{route}</a>
            </th>
            <td class="num" data-label="Requests">
              {groupedDigits(requests)}
            </td>
            <td data-label="Replays">
              <Rate kind="replays" count={replays} of={requests} />
            </td>
            <td data-label="Conflicts">
              <Rate kind="conflicts" count={conflicts} of={requests} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Rate({ kind, count, of }: { readonly kind: string; readonly count: number; readonly of: number }) {
  const percent = of === 0 ? 0 : (100 * count) / of;
  return (
    <div class="rate">
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class={kind} width={percent.toFixed(1)} height="10" />
      </svg>
      <span>
        {percent.toFixed(1)}% <span class="soft small">({groupedDigits(count)})</span>
      </span>
    </div>
  );
}

/** A count that may be larger, as `10 000+`. */
export function groupedAtLeast(count: number, isAtLeast: boolean): string {
  return groupedDigits(count) + (isAtLeast ? "+" : "");
}

/** With narrow no-break spaces, so that `12 345` stays on one line. */
export function groupedDigits(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
}
