// Checks the layouts of a configuration, in each route and between routes. An object of a previous layout is closed for one other layout and never
// opened again, so all routes that share a layout have to leave it together, and no route enters it again. As in the kernel's cross-checks.ts, a relation
// with an invalid setting is skipped.

import { type Layout, layoutName, type Layouts, shardCount } from "../../../kernel/config/layout.ts";
import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import type { PlacedRules } from "../../../kernel/feature-settings.ts";
import { layoutsOf, type PreviousShardsSettings } from "./entries.ts";

/** The settings that make a route's layouts. */
const LAYOUT_SETTINGS = ["shards", "jurisdiction", "previous_shards"] as const;

export function layoutProblems(rules: readonly PlacedRules<PreviousShardsSettings>[]): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const fine: PlacedLayouts[] = [];
  for (const { place, inForce } of rules) {
    if (!inForce.isKnown(...LAYOUT_SETTINGS)) continue;
    const layouts = layoutsOf(inForce.all);
    const message = ownProblem(layouts, inForce.all.previous_shards);
    const path = `${inForce.place(...LAYOUT_SETTINGS)}.previous_shards`;
    if (message === null) fine.push({ place, layouts });
    else problems.push({ path, code: "settings-contradict", message });
  }
  return [...problems, ...sharedLayoutProblems(fine)];
}

/** One route's layouts, and where the settings that say so are written: `ROUTES[2]` or `IDEMPOTENCY`. */
interface PlacedLayouts {
  readonly place: string;
  readonly layouts: Layouts;
}

/** What is wrong with a route's own `previous_shards`. `written` is the setting as it was read. */
function ownProblem({ own, previous }: Layouts, written: readonly (number | string | object)[]): string | null {
  const tables = written.filter((entry) => typeof entry === "object").length;
  if (tables > 0 && tables < written.length) {
    const all = writePreviousShards(previous, null);
    return `has entries with and without a jurisdiction: write ${all}, each with the jurisdiction that it had`;
  }
  const names = previous.map(layoutName);
  const twice = previous.find((one, at) => names.indexOf(layoutName(one)) !== at);
  if (twice !== undefined) return `lists ${asWritten(twice, own)} twice: write it once`;
  if (!names.includes(layoutName(own))) return null;
  return (
    `lists ${asWritten(own, own)}, which is in force, and a closed object is never opened again: ` +
    adviseAfresh(own, previous)
  );
}

/** What is wrong between routes: each pair is reported once, at the later route. */
function sharedLayoutProblems(routes: readonly PlacedLayouts[]): readonly ConfigProblem[] {
  return routes.flatMap((later, at) => {
    for (const earlier of routes.slice(0, at)) {
      const message = conflict(earlier, later);
      if (message !== null) return [{ path: `${later.place}.previous_shards`, message }];
    }
    return [];
  });
}

function conflict(one: PlacedLayouts, other: PlacedLayouts): string | null {
  const remedy = "write the same shards and previous_shards in both";
  if (layoutName(one.layouts.own) === layoutName(other.layouts.own)) {
    const [names, otherNames] = [one, other].map(({ layouts }) => layouts.previous.map(layoutName).join());
    if (names === otherNames) return null;
    return `differs from that of ${one.place}, which has the same objects: ${remedy}`;
  }
  for (const [leaving, staying] of [
    [one, other],
    [other, one],
  ] as const) {
    const left = successors(leaving.layouts).get(layoutName(staying.layouts.own));
    if (left === undefined) continue;
    const { layout, next } = left;
    return `${leaving.place} leaves ${quoted(layout)} for ${quoted(next)}, but ${staying.place} keeps its keys there: ${remedy}`;
  }
  const others = successors(other.layouts);
  for (const [name, { layout, next }] of successors(one.layouts)) {
    const otherNext = others.get(name)?.next ?? next;
    if (layoutName(otherNext) === layoutName(next)) continue;
    return `${one.place} leaves ${quoted(layout)} for ${quoted(next)}, but ${other.place} for ${quoted(otherNext)}: ${remedy}`;
  }
  return null;
}

interface Left {
  readonly layout: Layout;
  readonly next: Layout;
}

/** For which layout each older one was left. */
function successors({ own, previous }: Layouts): ReadonlyMap<string, Left> {
  return new Map(previous.map((one, at) => [layoutName(one), { layout: one, next: previous[at + 1] ?? own }]));
}

/** A layout as a configuration or the operator API names it. */
export interface NamedLayout {
  readonly shards: number | string;
  readonly jurisdiction: string | null;
}

/** The setting for these layouts, oldest first. Only where all have the jurisdiction of `own` it needs no tables. */
export function writePreviousShards(previous: readonly NamedLayout[], own: NamedLayout | null): string {
  const isPlain = own !== null && previous.every(({ jurisdiction }) => jurisdiction === own.jurisdiction);
  return `[${previous.map((one) => (isPlain ? JSON.stringify(one.shards) : asTable(one))).join(", ")}]`;
}

function asWritten(layout: NamedLayout, own: NamedLayout): string {
  return layout.jurisdiction === own.jurisdiction ? JSON.stringify(layout.shards) : asTable(layout);
}

function asTable({ shards, jurisdiction }: NamedLayout): string {
  return `{ shards = ${JSON.stringify(shards)}, jurisdiction = "${jurisdiction ?? "none"}" }`;
}

function quoted({ shards, jurisdiction }: Layout): string {
  return `shards = ${JSON.stringify(shards)}${jurisdiction === null ? "" : ` in "${jurisdiction}"`}`;
}

/** For an object for each key, which has no other name. */
const DEFAULT_COUNT = 64;

/** Each gives as many objects other names. */
const LETTERS = "bcdefghijklmnopqrstuvwxyz";

/** A value of `shards` for a layout that was left: as many objects, with names that none of `used` has had. */
function afresh({ shards }: Layout, used: readonly NamedLayout[]): number | string {
  const count = shardCount(shards) ?? DEFAULT_COUNT;
  const taken = new Set([shards, ...used.map((one) => one.shards)].map(String));
  return (
    [count, ...Array.from(LETTERS, (letter) => `${count}${letter}`)].find((name) => !taken.has(String(name))) ?? count
  );
}

/** The same as advice. */
export function adviseAfresh(own: Layout, used: readonly NamedLayout[]): string {
  const value = JSON.stringify(afresh(own, used));
  return own.shards === "per-key"
    ? `write shards = ${value}, because an object for each key has no other name`
    : `write shards = ${value} for as many objects with other names`;
}
