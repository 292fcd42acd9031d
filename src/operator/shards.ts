// Which objects keep records, according to the configuration. Routes that differ in number of shards or jurisdiction have
// different objects.

import { type Layout, layoutName, shardCount } from "../config/layout.ts";
import type { Route } from "../config/resolved.ts";
import { KEY_HASH_DIGITS } from "../core/units.ts";
import { placeOf, type ShardPlace } from "../shard/shard-place.ts";

const NOWHERE: ShardPlace = { name: "shard-0-of-1", jurisdiction: null, locationHint: null };

export class ShardPlaces {
  readonly #layouts: readonly Layout[];

  constructor(routes: readonly Route[]) {
    const byName = routes.toReversed().map(({ layouts }) => [layoutName(layouts.own), layouts.own] as const);
    this.#layouts = [...new Map(byName).values()];
  }

  /** All except the objects of routes with one object per key, which cannot be enumerated. */
  get listed(): readonly ShardPlace[] {
    return this.#layouts.flatMap((layout) =>
      Array.from({ length: shardCount(layout.shards) ?? 0 }, (_, number) =>
        placeIn(layout, `shard-${number}-of-${layout.shards}`),
      ),
    );
  }

  /** All that may have counted something. When none is listed, one object without records counts for the isolates. */
  get counting(): readonly [ShardPlace, ...ShardPlace[]] {
    const [first = NOWHERE, ...others] = this.listed;
    return [first, ...others];
  }

  /** Keeps no records, only the operators' own state, so that no failing shard affects it. */
  get operators(): ShardPlace {
    const [layout] = this.#layouts;
    return layout === undefined ? NOWHERE : placeIn(layout, "operators");
  }

  /**
   * Where records can be whose ids start with these 8 or more digits. With one object per key, its name contains the whole key
   * hash, so a shorter prefix finds none.
   */
  of(idPrefix: string): readonly ShardPlace[] {
    return this.#layouts.flatMap((layout) =>
      layout.shards === "per-key" && idPrefix.length < KEY_HASH_DIGITS ? [] : [placeOf(idPrefix, layout)],
    );
  }
}

function placeIn({ jurisdiction, locationHint }: Layout, name: string): ShardPlace {
  return { name, jurisdiction, locationHint };
}
