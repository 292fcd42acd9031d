// What operators see of the layouts: how far the change from one to the next has come, and when an older one may leave the
// configuration. Pure: counts what the shards have said.

import { identityRoots } from "../kernel/config/identity.ts";
import { keySourceNames } from "../kernel/config/key-source.ts";
import { layoutTitle, shardCount } from "../kernel/config/layout.ts";
import { protectsKeys, type Route } from "../kernel/config/resolved.ts";
import { scopeNames } from "../kernel/config/scope-part.ts";
import { type EpochMs, epochMs } from "../kernel/record/units.ts";
import { placesTogether, type ShardsTogether } from "../kernel/object/gathering.ts";
import type { ShardCounts } from "../kernel/object/operator-calls.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import { HELD, type HeldKind, MAX_HELD } from "../kernel/record/held-rows.ts";
import type { ShardAnswer } from "./ask-shards.ts";
import type { LayoutsView, LayoutView } from "./gateway-schema.ts";
import { openCounts, type WithEpochTimes } from "./operator.ts";
import type { ConfiguredLayout, LayoutShardAddress } from "./shards.ts";

export type LayoutSummary = WithEpochTimes<LayoutView>;

/** `open`: keys begin in it. Both others are closed: `empty` ones hold nothing any more, so nothing of them can be forgotten. */
export const OBJECT_STATES = ["open", "closed", "empty"] as const;
type ObjectState = (typeof OBJECT_STATES)[number];

export function objectState({ closed }: Pick<ShardCounts, "closed">): ObjectState {
  if (closed === null) return "open";
  return closed.holds.length === 0 ? "empty" : "closed";
}

/** What an object has, or several objects of a large layout together. */
export type CountedObjects = ShardCounts & Partial<Pick<ShardsTogether, "objects">>;

/** How many objects a count is of. */
export function objectsIn({ objects = 1 }: Pick<CountedObjects, "objects">): number {
  return objects;
}

/** What the empty objects of previous layouts have counted. The totals need it before nobody asks these objects any more. */
export function leftCounts(
  layouts: readonly ConfiguredLayout[],
  asked: readonly ShardAnswer<CountedObjects>[],
): readonly CountedByShard[] {
  const previous = new Set(layouts.flatMap(({ next, title }) => (next === null ? [] : [title])));
  return asked.flatMap(({ shard, layout, answer }) => {
    const left = answer?.closed?.left ?? null;
    return left === null || !previous.has(layout) ? [] : [{ shard, since: left.since, routes: left.routes }];
  });
}

/** In the order of `layouts`. `isAddedUp`: the totals have the `leftCounts`. `unused`: objects that were not asked, because no client has used them. */
export function summarizeLayouts(
  layouts: readonly ConfiguredLayout[],
  asked: readonly ShardAnswer<CountedObjects>[],
  isAddedUp: boolean,
  unused: readonly LayoutShardAddress[] = [],
): readonly LayoutSummary[] {
  const configured = new Set(layouts.map(({ title }) => title));
  const summaries: LayoutSummary[] = [];
  for (const layout of layouts) {
    const shards = asked.filter((shard) => shard.layout === layout.title);
    const counted = {
      ...countLayout(layout, shards),
      unused: unused.filter((one) => one.layout === layout.title).length,
    };
    const { dayRequests: _dayRequests, isMoreHeld: _isMoreHeld, ...shown } = counted;
    summaries.push({ ...shown, ...judge(counted, configured, summaries, isAddedUp) });
  }
  return summaries;
}

interface Counted extends Omit<LayoutSummary, "mayGo" | "reason"> {
  /** Requests that its closed objects have answered in the last day. */
  readonly dayRequests: number;
  /** Of which kinds it holds more than was counted. */
  readonly isMoreHeld: ReadonlySet<HeldKind>;
}

function countLayout(
  { title, layout, next, routes }: ConfiguredLayout,
  asked: readonly ShardAnswer<CountedObjects>[],
): Omit<Counted, "unused"> {
  const answers = asked.flatMap(({ answer }) => (answer === null ? [] : [answer]));
  const inState = (state: ObjectState): number =>
    answers.reduce((sum, answer) => sum + (objectState(answer) === state ? objectsIn(answer) : 0), 0);
  const closed = answers.flatMap((answer) => answer.closed ?? []);
  return {
    layout: title,
    shards: layout.shards,
    jurisdiction: layout.jurisdiction,
    next: next === null ? null : layoutTitle(next),
    closedFor: [...new Set(closed.map((one) => layoutTitle(one.next)))],
    routes,
    objects: shardCount(layout.shards),
    open: inState("open"),
    closed: inState("closed"),
    empty: inState("empty"),
    holds: HELD.flatMap((what) => {
      const counts = closed.flatMap(({ holds }) => holds.flatMap((one) => (one.what === what ? [one.count] : [])));
      return counts.length === 0 ? [] : [{ what, count: counts.reduce((sum, count) => sum + count, 0) }];
    }),
    isMoreHeld: new Set(
      closed.flatMap(({ holds }) => holds.flatMap(({ what, count }) => (count < MAX_HELD ? [] : [what]))),
    ),
    dayRequests: closed.reduce((sum, { left }) => sum + (left?.dayRequests ?? 0), 0),
    ...openCounts(answers),
    lastExpiresAt: answers.reduce<EpochMs | null>((last, one) => latestOf(last, one.lastExpiresAt), null),
    places: placesTogether(answers),
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
  const stays = layout.next === null ? inForceReason(layout) : reasonToStay(layout, configured, others);
  const reason = stays ?? (isAddedUp ? null : NOT_ADDED_UP);
  return reason === null ? { mayGo: true, reason: farewell(layout) } : { mayGo: false, reason };
}

const NOT_ADDED_UP =
  "Closed and empty, but the object with the totals did not answer, and the metrics would lack what was counted here: ask again.";

function farewell({ dayRequests }: Counted): string {
  const go = "Closed and empty: take it out of previous_shards.";
  if (dayRequests === 0) return go;
  const many = dayRequests === 1 ? "1 request that it has" : `${dayRequests} requests that it has`;
  return `${go} The last 24 hours then lack ${many} answered; the metrics keep counting them.`;
}

function inForceReason({ layout, closedFor, objects, unused }: Counted): string {
  if (objects === null) return "In force. Its objects, one for each key, cannot be counted.";
  if (closedFor.length === 0) {
    return unused === 0
      ? "In force."
      : `In force. Of its ${objects} objects no client has used ${unused}, which were not asked.`;
  }
  return (
    `In force, but objects of it are closed for ${closedFor.join(" and ")}, where their keys begin: ` +
    `a closed object is never opened again. Go back to shards = ${closedFor[0]}, with ${layout} in previous_shards.`
  );
}

/** `null`: the layout may go. */
function reasonToStay(
  { layout, closedFor, objects, open, closed, empty, holds, isMoreHeld, unreachable }: Counted,
  configured: ReadonlySet<string>,
  others: readonly LayoutSummary[],
): string | null {
  if (objects === null) {
    return "Its objects, one for each key, cannot be counted: take it out when the longest retention (with remember, that) has passed since the last deployment in which it was in force.";
  }
  const strange = closedFor.filter((title) => !configured.has(title));
  if (strange.length > 0) {
    return `Closed for ${strange.join(" and ")}, which the configuration does not list: append it to previous_shards.`;
  }
  if (open > 0) {
    return `${objectsText(open)} of it ${open === 1 ? "is" : "are"} open, and keys begin there: close the layout when this configuration is deployed everywhere.`;
  }
  if (closed > 0)
    return `${objectsText(closed)} still ${closed === 1 ? "holds" : "hold"} ${heldText(holds, isMoreHeld)}.`;
  if (unreachable.length > 0) return `${objectsText(unreachable.length)} did not answer: ask again.`;
  const sender = others.find((other) => other.next !== null && !other.mayGo && other.closedFor.includes(layout));
  if (sender !== undefined) {
    return `Closed and empty, but objects of ${sender.layout} still send requests to it: take ${sender.layout} out first.`;
  }
  // What is closed and empty stays so: it does not matter when an object has said it.
  const left = objects - empty;
  return left > 0 ? `${objectsText(left)} of it ${left === 1 ? "has" : "have"} not been asked yet: ask again.` : null;
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
  // One that protects nothing has no records.
  return routes
    .filter(protectsKeys)
    .map(({ path, methods, scope, identities, keyFrom, contentKey, encryptResponses, async, fingerprint }) => ({
      path,
      methods,
      scope: scopeNames(scope),
      identities: Object.fromEntries(identities.map((one) => [one.name, identityRoots(one)])),
      keyFrom: keySourceNames({ keyFrom, contentKey }),
      encryptResponses: encryptResponses === true,
      async,
      fingerprint: JSON.stringify(fingerprint),
    }));
}
