// A layout: the set of objects that share the keys of a route. Its name is part of every record's name, and its numbers are part of
// the objects' names. So what this file returns for a layout must never change: the records of that layout would be lost.

import { type ParsedSetting, refuseValue } from "./units.ts";
import type { Jurisdiction, ObjectPlacement } from "./words.ts";

/** So many objects; letters after the number give the same number of objects other names. `per-key`: an object for each key. */
export type ShardsSetting = number | "per-key" | LetteredShards;

type LetteredShards = `${number}${string}`;

export interface Layout {
  readonly shards: ShardsSetting;
  /** `null`: anywhere. */
  readonly jurisdiction: Jurisdiction | null;
  /** Where its objects are created. It is no part of their names. `null`: nothing was said, which means `first-use`. */
  readonly locationHint: ObjectPlacement | null;
}

/** The layouts of a route: the one that it claims new keys in, and those that may still hold older ones, oldest first. */
export interface Layouts {
  readonly own: Layout;
  readonly previous: readonly Layout[];
}

/** The layout's name. Routes with the same name share their objects. */
export function layoutName({ shards, jurisdiction }: Pick<Layout, "shards" | "jurisdiction">): string {
  return `${shards} ${jurisdiction}`;
}

/** The layout's name for operators, in URLs and labels: `64`, `64b-eu`, `per-key`. */
export function layoutTitle({ shards, jurisdiction }: Pick<Layout, "shards" | "jurisdiction">): string {
  return jurisdiction === null ? String(shards) : `${shards}-${jurisdiction}`;
}

/** What a title looks like. */
export const LAYOUT_TITLE_PATTERN = "^(?:[1-9][0-9]{0,4}[a-z]{0,8}|per-key)(?:-[a-z]+)*$";

/** At 300 ms per call enough for 780,000 first requests per second (test/bench/cost/waiting.ts). */
export const MAX_SHARDS = 65_536;

export const LETTERED_SHARDS_PATTERN = "^[1-9][0-9]{0,4}[a-z]{1,8}$";

export const SHARDS_MESSAGE = `must be a whole number from 1 to ${MAX_SHARDS}, such a number with letters ("64b"), or "per-key": write 64`;

export function parseShards(value: number | string): ParsedSetting<ShardsSetting> {
  if (value === "per-key") return { ok: true, value };
  if (typeof value === "string" && !isLettered(value)) return refuseValue(SHARDS_MESSAGE);
  const count = numberOf(value);
  const isCount = Number.isInteger(count) && count >= 1 && count <= MAX_SHARDS;
  return isCount ? { ok: true, value } : refuseValue(SHARDS_MESSAGE);
}

/** How many objects there are; `null`: one for each key. */
export function shardCount(shards: ShardsSetting): number | null {
  return shards === "per-key" ? null : numberOf(shards);
}

function numberOf(shards: number | LetteredShards): number {
  return typeof shards === "number" ? shards : Number.parseInt(shards, 10);
}

function isLettered(value: string): value is LetteredShards {
  return new RegExp(LETTERED_SHARDS_PATTERN).test(value);
}
