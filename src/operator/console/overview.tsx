// The first page: calls in flight, records that need a decision, traffic by route.

import type { AllCounts, RecordSummary } from "../operator.ts";
import { outageQuery, type OutageSummary, outageText } from "../outages.ts";
import type { RouteWarning } from "../traffic-reader.ts";
import { elapsedText } from "./browser/times.ts";
import { ConsolePage } from "./page.tsx";
import { groupedAtLeast, TrafficRates } from "./rates.tsx";
import { COLUMNS, RecordsTable } from "./records-table.tsx";
import { CountTile, FigureTile } from "./tiles.tsx";
import { UnreachableShards, unreachableText, byteText } from "./shards.tsx";
import type { RouteRates } from "./traffic.ts";
import type { ConsoleView } from "./view.ts";

export interface OverviewProps extends Pick<AllCounts, "total" | "unreachable" | "notAsked"> {
  readonly view: ConsoleView;
  /** The longest running ones, longest first. */
  readonly inFlight: readonly RecordSummary[];
  /** Those whose outcome is unknown, oldest first. */
  readonly undecided: readonly RecordSummary[];
  /** What happened to these and others, the largest first. */
  readonly outages: readonly OutageSummary[];
  /** Of the last day. */
  readonly rates: readonly RouteRates[];
  /** Duplicates that did not reach the origin in the last day. */
  readonly prevented: number;
  readonly warnings: readonly RouteWarning[];
  /** Every key has its own object: nothing can be counted or listed. */
  readonly isPerKey: boolean;
}

/** An accepted request that has been due for so long deserves a look: the alert OncewayWaitingLate begins here too. */
const LATE_MS = 300_000;

export function OverviewPage(props: OverviewProps) {
  const { view, total, unreachable, notAsked, rates, warnings, isPerKey } = props;
  const { paths } = view;
  const unknown = `${total.unknown}${total.atLeast.includes("unknown") ? "+" : ""}`;
  const news =
    total.unknown === 0
      ? "Nothing needs a decision"
      : `${unknown} ${total.unknown === 1 ? "record needs" : "records need"} a decision`;
  return (
    <ConsolePage
      view={view}
      place="overview"
      title={total.unknown === 0 ? "Overview" : `(${unknown}) Overview`}
      news={unreachable.length === 0 ? news : `${news}. ${unreachableText(unreachable)}`}
    >
      <div class="head">
        <h1>Overview</h1>
        <form class="find" method="get" action={paths.records} role="search">
          <input
            name="key"
            type="search"
            aria-label="Idempotency key"
            placeholder="Idempotency key"
            required
            autocomplete="off"
            spellcheck={false}
          />
          <button>Search</button>
        </form>
      </div>
      <UnreachableShards view={view} unreachable={unreachable} notAsked={notAsked} />
      <div id="warnings" data-live>
        {warnings.map(({ route, message }) => (
          <p class="note" role="status">
            <span class="mono">{route}</span>: {message}
          </p>
        ))}
      </div>
      {isPerKey ? (
        <p class="note">
          Every key has its own object (shards = "per-key"), and those cannot be listed. Search for a record by its key.
          Below is only what Workers have answered alone, such as replays from their memory.
        </p>
      ) : (
        <Open {...props} />
      )}
      <section class="card" id="rates" data-live>
        <div class="head">
          <h2 id="rates-title">Replays and conflicts by route</h2>
          <span class="soft small">
            in <a href={paths.day}>the last 24 hours</a>
          </span>
        </div>
        <TrafficRates
          view={view}
          rates={rates}
          hasOpen={total.inFlight + total.waiting + total.unknown + total.failed > 0}
        />
      </section>
    </ConsolePage>
  );
}

function Counts({ view, total, unreachable, notAsked, prevented }: OverviewProps) {
  const { paths } = view;
  const { objects, bytes, oldestWaitingMs } = total;
  const all = objects + unreachable.length + notAsked.missing;
  const open = (state: "unknown" | "waiting" | "failed") => ({
    count: total[state],
    isAtLeast: total.atLeast.includes(state),
    href: paths.listed({ state }),
  });
  return (
    <dl class="tiles six" id="counts" data-live>
      <CountTile name="Duplicates prevented" count={prevented} says="in 24 hours" href={paths.day} />
      <CountTile
        name="In flight"
        count={total.inFlight}
        says="at the origin"
        href={paths.listed({ state: "started" })}
      />
      <CountTile {...open("unknown")} name="Unknown" says="need a decision" alert={total.unknown > 0} />
      <CountTile
        {...open("waiting")}
        name="Waiting"
        says={oldestWaitingMs < LATE_MS ? "for an attempt" : `one due for ${elapsedText(oldestWaitingMs)}`}
        alert={oldestWaitingMs >= LATE_MS}
      />
      <CountTile {...open("failed")} name="Not done" says="the next try runs" />
      <FigureTile
        name="Stored"
        figure={byteText(bytes)}
        says={`in ${objects === all ? "" : `${objects} of `}${all} shards`}
        href={paths.shards}
      />
    </dl>
  );
}

/** More are no overview. */
const MAX_OUTAGES = 3;

/** What happened, in one line each, with the page on which all of these records are decided about. */
function Outages({ view, outages }: Pick<OverviewProps, "view" | "outages">) {
  const shown = outages.filter(({ count }) => count > 1).slice(0, MAX_OUTAGES);
  return shown.length === 0 ? null : (
    <ul class="outages">
      {shown.map((outage) => (
        <li>
          <strong>{outageText(outage, view.now)}</strong>{" "}
          {view.viewer.actor.role === "admin" ? (
            <a href={`${view.paths.changeAll}?${new URLSearchParams(outageQuery(outage)).toString()}`}>
              Change all {groupedAtLeast(outage.count, outage.isAtLeast)} …
            </a>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

/** What is not completed. */
function Open(props: OverviewProps) {
  const { view, total, inFlight, undecided, outages } = props;
  const { paths } = view;
  return (
    <>
      <Counts {...props} />

      <section class="card" id="undecided" data-live>
        <div class="head">
          <h2 id="undecided-title">Needs a decision</h2>
          <More
            shown={undecided.length}
            of={total.unknown}
            isAtLeast={total.atLeast.includes("unknown")}
            href={paths.listed({ state: "unknown" })}
          />
        </div>
        <Outages view={view} outages={outages} />
        {undecided.length === 0 ? (
          <p class="empty">
            Nothing to decide. A key appears here when its attempt may or may not have taken effect, on a route with{" "}
            <code>unknown = "hold"</code>, or with <code>"verify"</code> until the origin's answer decides.
          </p>
        ) : (
          <RecordsTable
            view={view}
            records={undecided}
            columns={[COLUMNS.route, COLUMNS.attempt, COLUMNS.undecided, COLUMNS.expires]}
            labelledBy="undecided-title"
          />
        )}
      </section>

      <section class="card" id="in-flight" data-live>
        <div class="head">
          <h2 id="in-flight-title">In flight</h2>
          <More shown={inFlight.length} of={total.inFlight} href={paths.listed({ state: "started" })} />
        </div>
        {inFlight.length === 0 ? (
          <p class="empty">No calls to the origin in flight.</p>
        ) : (
          <RecordsTable
            view={view}
            records={inFlight}
            columns={[COLUMNS.route, COLUMNS.attempt, COLUMNS.running, COLUMNS.locked]}
            labelledBy="in-flight-title"
          />
        )}
      </section>
    </>
  );
}

interface MoreProps {
  readonly shown: number;
  readonly of: number;
  readonly isAtLeast?: boolean;
  readonly href: string;
}

function More({ shown, of, isAtLeast = false, href }: MoreProps) {
  return of > shown ? (
    <a class="small" href={href}>
      All {groupedAtLeast(of, isAtLeast)}
    </a>
  ) : null;
}
