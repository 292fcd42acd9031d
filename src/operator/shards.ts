// Which objects keep records, by the configuration. Routes with another number of shards, or another jurisdiction, have
// other objects.

import type { Route } from "../config/resolved.ts";
import { shardSet } from "../config/shard-set.ts";
import { KEY_HASH_DIGITS } from "../core/units.ts";
import { shardName, type ShardPlace } from "../shard/shard-place.ts";

type Group = Pick<Route, "shards" | "jurisdiction" | "locationHint">;

const NOWHERE: ShardPlace = { name: "shard-0-of-1", jurisdiction: null, locationHint: null };

export class ShardPlaces {
  /** A route for each set of objects. */
  readonly #groups: readonly Group[];

  constructor(routes: readonly Route[]) {
    const bySet = routes.toReversed().map((route) => [shardSet(route), route] as const);
    this.#groups = [...new Map(bySet).values()];
  }

  /** All but those with an object for each key, which nobody can enumerate. */
  get listed(): readonly ShardPlace[] {
    return this.#groups.flatMap((group) =>
      group.shards === "per-key"
        ? []
        : Array.from({ length: group.shards }, (_, number) => placeIn(group, `shard-${number}-of-${group.shards}`)),
    );
  }

  /** All that may have counted something. Where nothing is listed, one that keeps no records counts for the isolates. */
  get counting(): readonly [ShardPlace, ...ShardPlace[]] {
    const [first = NOWHERE, ...others] = this.listed;
    return [first, ...others];
  }

  /** One that keeps no records, but what is the operators' own: no shard that fails takes it with it. */
  get operators(): ShardPlace {
    const [group] = this.#groups;
    return group === undefined ? NOWHERE : placeIn(group, "operators");
  }

  /**
   * Where the records can be whose ids begin so, with eight digits or more. An object for each key has the key's whole
   * hash in its name: with less of it, none is named.
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
