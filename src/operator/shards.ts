// Which objects keep records, according to the configuration. Routes that differ in number of shards or jurisdiction have
// different objects.

import { type Route, shardSet } from "../config/resolved.ts";
import { KEY_HASH_DIGITS } from "../core/units.ts";
import { shardName, type ShardPlace } from "../shard/shard-place.ts";

type Group = Pick<Route, "shards" | "jurisdiction" | "locationHint">;

const NOWHERE: ShardPlace = { name: "shard-0-of-1", jurisdiction: null, locationHint: null };

export class ShardPlaces {
  /** One route for each set of objects. */
  readonly #groups: readonly Group[];

  constructor(routes: readonly Route[]) {
    const bySet = routes.toReversed().map((route) => [shardSet(route), route] as const);
    this.#groups = [...new Map(bySet).values()];
  }

  /** All except the objects of routes with one object per key, which cannot be enumerated. */
  get listed(): readonly ShardPlace[] {
    return this.#groups.flatMap((group) =>
      group.shards === "per-key"
        ? []
        : Array.from({ length: group.shards }, (_, number) => placeIn(group, `shard-${number}-of-${group.shards}`)),
    );
  }

  /** All that may have counted something. When none is listed, one object without records counts for the isolates. */
  get counting(): readonly [ShardPlace, ...ShardPlace[]] {
    const [first = NOWHERE, ...others] = this.listed;
    return [first, ...others];
  }

  /** Keeps no records, only the operators' own state, so that no failing shard affects it. */
  get operators(): ShardPlace {
    const [group] = this.#groups;
    return group === undefined ? NOWHERE : placeIn(group, "operators");
  }

  /**
   * Where records can be whose ids start with these 8 or more digits. With one object per key, its name contains the whole key
   * hash, so a shorter prefix finds none.
   */
  of(idPrefix: string): readonly ShardPlace[] {
    return this.#groups.flatMap((group) =>
      group.shards === "per-key" && idPrefix.length < KEY_HASH_DIGITS
        ? []
        : [placeIn(group, shardName(idPrefix, group.shards))],
    );
  }
}

function placeIn({ jurisdiction, locationHint }: Group, name: string): ShardPlace {
  return { name, jurisdiction, locationHint };
}
