// The groups of consumers: their open claims, and how far each has read.

import type { Hono } from "hono";
import type { PositionPageView } from "./positions-schema.ts";
import { parsePositionsQuery } from "./positions-api.ts";
import type { PositionsOperator } from "./positions-operator.ts";
import type { SignedRequest } from "../../../operator/console/guard.ts";
import { ConsolePage, showPage } from "../../../operator/console/page.tsx";
import { groupedDigits, groupedAtLeast } from "../../../operator/console/rates.tsx";
import { UnreachableShards } from "../../../operator/console/shards.tsx";
import { PageLinks, DataTable } from "../../../operator/console/table.tsx";
import { TimeText } from "../../../operator/console/time.tsx";
import type { ConsolePaths, ConsoleView } from "../../../operator/console/view.ts";

export function claimRoutes(
  app: Hono<SignedRequest>,
  paths: ConsolePaths,
  positions: Pick<PositionsOperator, "list">,
): void {
  app.get(paths.below("claims"), async (c) => {
    const parsed = parsePositionsQuery(new URL(c.req.url).searchParams);
    if (!parsed.ok) return c.notFound();
    const { group, limit, cursor } = parsed.value;
    const page = await positions.list(group, limit, cursor);
    return page === null
      ? c.redirect(paths.below("claims"), 303)
      : showPage(<Claims view={c.var.view} page={page} isFirst={cursor === null} />);
  });
}

interface ClaimsProps {
  readonly view: ConsoleView;
  readonly page: PositionPageView;
  readonly isFirst: boolean;
}

function Claims({ view, page, isFirst }: ClaimsProps) {
  const { groups, positions, cursor, unreachable, notAsked } = page;
  const since = (at: string | null) => (at === null ? "–" : <TimeText at={Date.parse(at)} now={view.now} rel="for" />);
  return (
    <ConsolePage view={view} place="claims" title="Claims">
      <h1 id="groups-title">Claims</h1>
      <UnreachableShards view={view} unreachable={unreachable} notAsked={notAsked} />
      <section class="card" id="groups" data-live>
        {groups.length === 0 ? (
          <p class="empty">No groups of consumers are configured (CONSUMERS).</p>
        ) : (
          <DataTable
            labelledBy="groups-title"
            columns={[
              ["Group"],
              ["Started", "num"],
              ["Unknown", "num"],
              ["Failed", "num"],
              ["Partitions", "num"],
              ["Position held", "when"],
            ]}
            rows={groups.map(({ group, started, unknown, failed, atLeast, partitions, heldSince }) => {
              const count = (state: string, all: number) =>
                all === 0 ? (
                  "0"
                ) : (
                  <a href={view.paths.listed({ route: `claims:${group}`, state })}>{groupedAtLeast(all, atLeast)}</a>
                );
              return [
                <span class="mono">{group}</span>,
                count("started", started),
                count("unknown", unknown),
                count("failed", failed),
                groupedDigits(partitions),
                since(heldSince),
              ];
            })}
          />
        )}
      </section>
      <h2 id="positions-title">Positions</h2>
      <section class="card" id="positions" data-live>
        {positions.length === 0 ? (
          <p class="empty">No claim has a position.</p>
        ) : (
          <DataTable
            labelledBy="positions-title"
            columns={[
              ["Stream"],
              ["Group"],
              ["Partition", "num"],
              ["Goes on at", "num"],
              ["Open claims", "num"],
              ["Held", "when"],
            ]}
            rows={positions.map(({ group, stream, partition, next, openClaims, heldSince, isUnclaimed }) => [
              <span class="mono">{stream}</span>,
              <span class="mono">{group}</span>,
              String(partition),
              next === null ? "–" : String(next),
              groupedDigits(openClaims),
              isUnclaimed ? "never claimed" : since(heldSince),
            ])}
          />
        )}
        <PageLinks path={view.paths.below("claims")} query={{}} isFirst={isFirst} cursor={cursor} />
      </section>
    </ConsolePage>
  );
}
