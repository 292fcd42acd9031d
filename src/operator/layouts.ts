// What operators see of the layouts: how far the change from one to the next has come, and when an older one may leave the
// configuration. Pure: counts what the shards have said.

import { identityRoots } from "../kernel/config/identity.ts";
import { sourceName } from "../kernel/config/key-source.ts";
import { layoutTitle, shardCount } from "../kernel/config/layout.ts";
import type { Route } from "../kernel/config/resolved.ts";
import { scopeNames } from "../kernel/config/scope-part.ts";
import { type EpochMs, epochMs } from "../kernel/record/units.ts";
import type { Counts } from "../kernel/object/operator-calls.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import { HELD, type HeldKind, MAX_HELD } from "../kernel/record/held-keys.ts";
import type { ShardAnswer } from "./ask-shards.ts";
import type { LayoutsView, LayoutView } from "./gateway-schema.ts";
import { openCounts, type WithEpochTimes } from "./operator.ts";
import type { ConfiguredLayout } from "./shards.ts";

export type LayoutSummary = WithEpochTimes<LayoutView>;

/** `open`: takes new keys. Both others are sealed: `empty` ones hold nothing any more, so nothing of them can be forgotten. */
export const OBJECT_STATES = ["open", "sealed", "empty"] as const;
type ObjectState = (typeof OBJECT_STATES)[number];

export function objectState({ change }: Pick<Counts, "change">): ObjectState {
  const seal = change.seal;
  if (seal === null) return "open";
  return seal.holds.length === 0 ? "empty" : "sealed";
}

/** What the empty objects of layouts that were left have counted. The totals need it before nobody asks these objects any more. */
export function leftCounts(
  layouts: readonly ConfiguredLayout[],
  asked: readonly ShardAnswer<Counts>[],
): readonly CountedByShard[] {
  const older = new Set(layouts.flatMap(({ left, title }) => (left === null ? [] : [title])));
  return asked.flatMap(({ shard, layout, answer }) => {
    const left = answer?.change.seal?.left ?? null;
    return left === null || !older.has(layout) ? [] : [{ shard, since: left.since, routes: left.routes }];
  });
}

/** In the order of `layouts`. `isAddedUp`: the totals have the `leftCounts`. */
export function summarizeLayouts(
  layouts: readonly ConfiguredLayout[],
  asked: readonly ShardAnswer<Counts>[],
  isAddedUp: boolean,
): readonly LayoutSummary[] {
  const configured = new Set(layouts.map(({ title }) => title));
  const summaries: LayoutSummary[] = [];
  for (const layout of layouts) {
    const shards = asked.filter((shard) => shard.layout === layout.title);
    const counted = countLayout(layout, shards);
    const { dayRequests: _dayRequests, isMoreHeld: _isMoreHeld, ...shown } = counted;
    summaries.push({ ...shown, ...judge(counted, configured, summaries, isAddedUp) });
  }
  return summaries;
}

interface Counted extends Omit<LayoutSummary, "mayGo" | "reason"> {
  /** Requests that its sealed objects have answered in the last day. */
  readonly dayRequests: number;
  /** Of which kinds it holds more than was counted. */
  readonly isMoreHeld: ReadonlySet<HeldKind>;
}

function countLayout(
  { title, layout, left, routes }: ConfiguredLayout,
  asked: readonly ShardAnswer<Counts>[],
): Counted {
  const answers = asked.flatMap(({ answer }) => (answer === null ? [] : [answer]));
  const inState = (state: ObjectState): number => answers.filter((answer) => objectState(answer) === state).length;
  const changes = answers.map(({ change }) => change);
  const seals = changes.flatMap(({ seal }) => (seal === null ? [] : [seal]));
  const known = new Set(changes.flatMap(({ elders }) => elders.map(layoutTitle)));
  return {
    layout: title,
    shards: layout.shards,
    jurisdiction: layout.jurisdiction,
    left: left === null ? null : layoutTitle(left),
    next: [...new Set(seals.map(({ next }) => layoutTitle(next)))],
    elders: [...known],
    routes,
    objects: shardCount(layout.shards),
    open: inState("open"),
    sealed: inState("sealed"),
    empty: inState("empty"),
    keys: seals.reduce<number | null>((sum, { keys }) => (sum === null || keys === null ? null : sum + keys), 0),
    holds: HELD.flatMap((what) => {
      const counts = seals.flatMap(({ holds }) => holds.flatMap((one) => (one.what === what ? [one.count] : [])));
      return counts.length === 0 ? [] : [{ what, count: counts.reduce((sum, count) => sum + count, 0) }];
    }),
    isMoreHeld: new Set(
      seals.flatMap(({ holds }) => holds.flatMap(({ what, count }) => (count < MAX_HELD ? [] : [what]))),
    ),
    dayRequests: seals.reduce((sum, seal) => sum + (seal.left?.dayRequests ?? 0), 0),
    ...openCounts(answers),
    lastExpiresAt: changes.reduce<EpochMs | null>((last, one) => latestOf(last, one.lastExpiresAt), null),
    unreachable: asked.filter(({ answer }) => answer === null).map(({ shard }) => shard),
  };
}

/** `others`: the summaries of the layouts before this one. */
function judge(
  layout: Counted,
  configured: ReadonlySet<string>,
  others: readonly LayoutSummary[],
  isAddedUp: boolean,
): Pick<LayoutSummary, "mayGo" | "reason"> {
  const stays = layout.left === null ? inForceReason(layout) : reasonToStay(layout, configured, others);
  const reason = stays ?? (isAddedUp ? null : NOT_ADDED_UP);
  return reason === null ? { mayGo: true, reason: farewell(layout) } : { mayGo: false, reason };
}

const NOT_ADDED_UP =
  "Sealed and empty, but the object with the totals did not answer, and the metrics would lack what was counted here: ask again.";

function farewell({ dayRequests }: Counted): string {
  const go = "Sealed and empty: take it out of previous_shards.";
  if (dayRequests === 0) return go;
  const many = dayRequests === 1 ? "1 request that it has" : `${dayRequests} requests that it has`;
  return `${go} The last 24 hours then lack ${many} answered; the metrics keep counting them.`;
}

function inForceReason({ layout, next, objects }: Counted): string {
  if (objects === null) return "In force: new keys begin here. Its objects, one for each key, cannot be counted.";
  if (next.length === 0) return "In force: new keys begin here.";
  return (
    `In force, but objects of it were left for ${next.join(" and ")}, where their new keys begin: ` +
    `a layout that was left is never entered again. Go back to shards = ${next[0]}, with ${layout} in previous_shards.`
  );
}

/** `null`: the layout may go. */
function reasonToStay(
  { layout, left, next, elders, objects, open, sealed, holds, isMoreHeld, unreachable }: Counted,
  configured: ReadonlySet<string>,
  others: readonly LayoutSummary[],
): string | null {
  if (objects === null) {
    return "Its objects, one for each key, cannot be counted: take it out when the longest retention (with remember, that) has passed since the last deployment in which it was in force.";
  }
  const strange = next.filter((title) => !configured.has(title));
  if (strange.length > 0) {
    return `Left for ${strange.join(" and ")}, which the configuration does not list: append it to previous_shards.`;
  }
  if (open > 0 && left !== null && elders.includes(left)) {
    return `Some of its objects sent their keys on to ${left}, and some of ${left} to this one: write another number for shards, with both in previous_shards.`;
  }
  if (open > 0) {
    return `${objectsText(open)} of it ${open === 1 ? "is" : "are"} still open and may take new keys: close the layout, or wait.`;
  }
  if (sealed > 0)
    return `${objectsText(sealed)} still ${sealed === 1 ? "holds" : "hold"} ${heldText(holds, isMoreHeld)}.`;
  if (unreachable.length > 0) return `${objectsText(unreachable.length)} did not answer: ask again.`;
  const sender = others.find((other) => other.left !== null && !other.mayGo && other.next.includes(layout));
  return sender === undefined
    ? null
    : `Sealed and empty, but objects of ${sender.layout} still send requests to it: take ${sender.layout} out first.`;
}

/** "3 records, 6 events and 2 positions"; what has to be done about it, if waiting is not enough. */
function heldText(holds: Counted["holds"], isMoreHeld: ReadonlySet<HeldKind>): string {
  const parts = holds.map(
    ({ what, count }) => `${count}${isMoreHeld.has(what) ? "+" : ""} ${count === 1 ? ONE[what] : what}`,
  );
  const last = parts.at(-1) ?? "";
  const all = parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
  const [only] = holds;
  const isPositions = holds.length === 1 && only?.what === "positions";
  return isPositions ? `${all}: without it their groups go on where their brokers say` : all;
}

const ONE: Readonly<Record<HeldKind, string>> = {
  records: "record",
  bodies: "body",
  events: "event",
  positions: "position",
  alerts: "alert",
  "audit entries": "audit entry",
};

function objectsText(count: number): string {
  return count === 1 ? "1 object" : `${count} objects`;
}

function latestOf(one: EpochMs | null, other: EpochMs | null): EpochMs | null {
  if (one === null || other === null) return one ?? other;
  return epochMs(Math.max(one, other));
}

/** The routes as operators see them. */
export function routeViews(routes: readonly Route[]): LayoutsView["routes"] {
  return routes.map(({ path, methods, scope, identities, keyFrom, sealed, async, fingerprint }) => ({
    path,
    methods,
    scope: scopeNames(scope),
    ...(identities.length === 0
      ? {}
      : { identities: Object.fromEntries(identities.map((one) => [one.name, identityRoots(one)])) }),
    keyFrom: keyFrom.map(sourceName),
    sealed: sealed === true,
    async,
    fingerprint: JSON.stringify(fingerprint),
  }));
}
