// Which objects keep records, by the configuration. Routes with another number of shards have other objects.

import type { LocationHint, Route } from "../config/resolved.ts";
import { shardName } from "../shard/naming.ts";

export interface ShardPlace {
  readonly name: string;
  /** As the routes would make it: whoever asks an object first decides where it is. */
  readonly locationHint: LocationHint | null;
}

export class ShardPlaces {
  /** A route for each number of shards. */
  readonly #groups: readonly Pick<Route, "shards" | "locationHint">[];

  constructor(routes: readonly Route[]) {
    this.#groups = [...new Map(routes.toReversed().map((route) => [route.shards, route])).values()];
  }

  /** All but those with an object for each key, which nobody can enumerate. */
  get listed(): readonly ShardPlace[] {
    return this.#groups.flatMap(({ shards, locationHint }) =>
      shards === "per-key"
        ? []
        : Array.from({ length: shards }, (_, number) => ({ name: `shard-${number}-of-${shards}`, locationHint })),
    );
  }

  /** All that may have counted something. Where nothing is listed, one that keeps no records counts for the isolates. */
  get counting(): readonly [ShardPlace, ...ShardPlace[]] {
    const [first = { name: "shard-0-of-1", locationHint: null }, ...others] = this.listed;
    return [first, ...others];
  }

  /** Where the records of a key can be, by what their ids begin with. */
  of(keyHash: string): readonly ShardPlace[] {
    return this.#groups.map(({ shards, locationHint }) => ({ name: shardName(keyHash, shards), locationHint }));
  }
}
