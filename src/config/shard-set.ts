// Which routes share their objects: those with the same number of them in the same jurisdiction.

import type { Route } from "./resolved.ts";

/** A name for the set of objects in which the route's records lie. */
export function shardSet({ shards, jurisdiction }: Pick<Route, "shards" | "jurisdiction">): string {
  return `${shards} ${jurisdiction}`;
}
