// The shards: what each has open, how large it is, and which do not answer.

import type { AllCounts } from "../operator.ts";
import type { ShardCountsView } from "../gateway-schema.ts";
import type { LayoutSummary } from "../layouts.ts";
import { notAskedText } from "../list-texts.ts";
import type { NotAskedView } from "../schema-members.ts";
import { ConsolePage } from "./page.tsx";
import { groupedDigits, groupedAtLeast } from "./rates.tsx";
import { TimeText } from "./time.tsx";
import type { ConsoleView } from "./view.ts";

type ShardsProps = { readonly view: ConsoleView } & AllCounts;

export function ShardsPage({ view, total, shards, layouts, unreachable, notAsked }: ShardsProps) {
  return (
    <ConsolePage view={view} place="shards" title="Shards">
      <h1 id="shards-title">Shards</h1>
      <UnreachableShards view={view} unreachable={unreachable} notAsked={notAsked} />
      <div id="layouts" data-live>
        {layouts.map((layout) => (
          <PlacesOfLayout layout={layout} />
        ))}
        {layouts.map((layout) => (layout.next === null ? null : <PreviousLayout layout={layout} now={view.now} />))}
      </div>
      <section class="card" id="shards" data-live>
        {total.objects > shards.length ? (
          <p class="note">
            Of layouts with more than 128 shards, only those with the oldest attempts in flight and the oldest unknown
            outcomes are shown.
          </p>
        ) : null}
        {layouts.some(({ unused }) => unused > 0) && total.objects + unreachable.length === 0 ? (
          <p class="empty">No client has used a shard yet.</p>
        ) : total.objects + unreachable.length + notAsked.missing === 0 ? (
          <p class="empty">
            Every key has its own object (shards = "per-key"), and those cannot be listed. Search for a record by its
            key.
          </p>
        ) : (
          <ShardsTable shards={shards} labelledBy="shards-title" />
        )}
      </section>
    </ConsolePage>
  );
}

/** On a machine of one's own there is nothing to say. */
function PlacesOfLayout({ layout: { layout, places } }: { readonly layout: LayoutSummary }) {
  const known = Object.entries(places).filter(([place]) => place !== "local");
  if (known.length === 0) return null;
  return (
    <p class="note">
      <strong>Layout {layout}</strong> runs in{" "}
      <span class="mono">{known.map(([place, objects]) => `${place} ${objects}`).join(", ")}</span>
    </p>
  );
}

function PreviousLayout({ layout, now }: { readonly layout: LayoutSummary; readonly now: number }) {
  const { objects, closed, empty, lastExpiresAt, mayGo, reason } = layout;
  return (
    <p class={mayGo ? "note completed" : "note"}>
      <strong>Layout {layout.layout}</strong>, followed by {layout.next}
      {objects === null ? null : `: closed ${closed + empty} of ${objects}, empty ${empty} of ${objects}`}
      {lastExpiresAt === null ? null : (
        <>
          , last record expires <TimeText at={lastExpiresAt} now={now} rel="in" />
        </>
      )}
      . <strong>{mayGo ? "No longer needed." : "Still needed."}</strong> {reason}
    </p>
  );
}

export function ShardsTable({
  shards,
  labelledBy,
}: {
  readonly shards: readonly ShardCountsView[];
  readonly labelledBy: string;
}) {
  return (
    <table class="grid" aria-labelledby={labelledBy}>
      <thead>
        <tr>
          <th scope="col">Shard</th>
          <th scope="col" class="num">
            In flight
          </th>
          <th scope="col" class="num">
            Waiting
          </th>
          <th scope="col" class="num">
            Unknown
          </th>
          <th scope="col" class="num">
            Failed
          </th>
          <th scope="col" class="num">
            Size
          </th>
        </tr>
      </thead>
      <tbody>
        {shards.map(({ shard, inFlight, waiting, placesTaken, unknown, failed, atLeast, bytes }) => (
          <tr>
            <th scope="row" class="mono">
              {shard}
            </th>
            <td class="num">{groupedDigits(inFlight)}</td>
            <td class="num">
              {groupedAtLeast(waiting, atLeast.includes("waiting"))}
              {placesTaken === 0 ? null : <span class="soft small wide-only"> {placesTaken} of 4 run</span>}
            </td>
            <td class="num">{groupedAtLeast(unknown, atLeast.includes("unknown"))}</td>
            <td class="num">{groupedAtLeast(failed, atLeast.includes("failed"))}</td>
            <td class="num">{byteText(bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const UNITS = ["kB", "MB", "GB"] as const;

/** Three digits at most are read at a glance. */
export function byteText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} ${UNITS[unit]}`;
}

interface UnaskedProps {
  readonly view: ConsoleView;
  readonly unreachable: readonly string[];
  readonly notAsked?: NotAskedView;
}

/** A live region that is always there, so that the notices can come and go on an open page. */
export function UnreachableShards({ view, unreachable, notAsked }: UnaskedProps) {
  const unasked = notAsked === undefined ? null : notAskedText(notAsked, view.now);
  return (
    <div id="unreachable" data-live>
      {unreachable.length === 0 ? null : (
        <p class="note error" role="status">
          <strong>{unreachableText(unreachable)}.</strong> Records there are not shown or counted on this page:{" "}
          <span class="mono">{unreachable.slice(0, MOST_NAMED).join(", ")}</span>
        </p>
      )}
      {unasked === null ? null : <p class="note">{unasked}</p>}
    </div>
  );
}

const MOST_NAMED = 100;

export function unreachableText(unreachable: readonly string[]): string {
  return unreachable.length === 1 ? "A shard does not answer" : `${unreachable.length} shards do not answer`;
}
