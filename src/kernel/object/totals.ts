// Adds up what all objects have counted. Each has stored its own numbers, which only rise; this object remembers the latest of each. So
// the totals never fall: not while an object does not answer, not when it leaves memory, and not when another deployment lists fewer
// objects.

import type { RouteNumbers } from "../traffic/route-counters.ts";
import { addedUp, laterOf } from "../traffic/route-counters.ts";
import type { KnownRows } from "../store/known-rows.ts";

/** All that an object has counted. */
export interface CountedByShard {
  readonly shard: string;
  /** When it began to count. If its database was lost it began again. */
  readonly since: number;
  readonly routes: readonly RouteNumbers[];
}

/** What an object has counted that nobody may ask again. */
export interface LeftCounts extends Omit<CountedByShard, "shard"> {
  /** Requests that it has answered in the last day. */
  readonly dayRequests: number;
}

/** The `since` of an object that has counted nothing. */
export const NOTHING_COUNTED = 0;

interface Known {
  readonly shards: readonly CountedByShard[];
  /** Counted by objects whose databases were lost. */
  readonly lost: readonly RouteNumbers[];
}

export class ShardTotals {
  readonly #rows: Pick<KnownRows, "get" | "put">;
  #stored: string | null = null;
  #known: Known | null = null;

  constructor(rows: Pick<KnownRows, "get" | "put">) {
    this.#rows = rows;
  }

  /** Remembers these numbers, in the turn whose answer has the totals: what was answered is durable. */
  addUp(counted: readonly CountedByShard[], now: number): readonly RouteNumbers[] {
    const before = (this.#known ??= this.#read());
    const known = counted.reduce((sum, one) => withNumbers(sum, one, now), before);
    const text = JSON.stringify(known);
    if (text !== this.#stored) this.#rows.put(text);
    this.#stored = text;
    this.#known = known;
    return addedUp([...known.lost, ...known.shards.flatMap(({ routes }) => routes)]);
  }

  #read(): Known {
    this.#stored = this.#rows.get();
    return this.#stored === null ? { shards: [], lost: [] } : JSON.parse(this.#stored);
  }
}

function withNumbers(known: Known, counted: CountedByShard, now: number): Known {
  const before = known.shards.find(({ shard }) => shard === counted.shard);
  const others = known.shards.filter(({ shard }) => shard !== counted.shard);
  if (before === undefined) return { ...known, shards: [...others, counted] };
  // It has counted nothing, or its answer is from before the loss and has taken long. Whoever began in the future has only had a clock
  // that was ahead.
  if (counted.since === NOTHING_COUNTED || (counted.since < before.since && before.since <= now)) return known;
  if (counted.since !== before.since) {
    return { shards: [...others, counted], lost: addedUp([...known.lost, ...before.routes]) };
  }
  return { ...known, shards: [...others, { ...counted, routes: laterOf(before.routes, counted.routes) }] };
}
