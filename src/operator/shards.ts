// Which objects keep records, according to the configuration: those of the layouts in force, and those of previous layouts that it
// still lists. Routes that differ in number of shards or jurisdiction have different objects.

import { type Layout, layoutName, layoutTitle, shardCount } from "../kernel/config/layout.ts";
import type { Route } from "../kernel/config/resolved.ts";
import { KEY_HASH_DIGITS } from "../kernel/record/units.ts";
import { CONSUMER_LABEL } from "../kernel/record/claim.ts";
import {
  GATHERED_TOGETHER,
  gatheringName,
  numberedName,
  shardAddressOf,
  type ShardAddress,
  shardTitle,
  TOTALS,
} from "../kernel/object/shard-address.ts";

/** An object, with the title of its layout. */
export interface LayoutShardAddress extends ShardAddress {
  readonly layout: string;
}

/** A layout that some route uses. */
export interface ConfiguredLayout {
  readonly title: string;
  readonly layout: Layout;
  /** The layout that follows it in the configuration; `null`: it is in force. */
  readonly next: Layout | null;
  /** The routes that use it: `POST PATCH /v1/payments`. */
  readonly routes: readonly string[];
}

/** A gathering object (kernel/object/gathering.ts), and the objects that it asks. */
export interface GatheringObject {
  readonly address: LayoutShardAddress;
  readonly layout: Layout;
  readonly from: number;
  readonly count: number;
}

/**
 * A layout with more objects is large: gathering objects ask them. Must never change: the totals know what an object of a small layout has counted by
 * its own name, and those of a large one by that of its gathering object.
 */
export const MOST_ASKED_ALONE = 128;

/** Where the objects are that belong to no route. */
export type OperatorsLayout = Pick<Layout, "jurisdiction" | "locationHint">;

const ANYWHERE: OperatorsLayout = { jurisdiction: null, locationHint: null };

export class ShardDirectory {
  /** Those in force first, then the previous ones, oldest first. */
  readonly layouts: readonly ConfiguredLayout[];
  readonly #gateway: OperatorsLayout;
  readonly #hasConsumers: boolean;

  constructor(routes: readonly Route[], gateway: OperatorsLayout = ANYWHERE) {
    this.layouts = layoutsOf(routes);
    this.#gateway = gateway;
    this.#hasConsumers = routes.some(({ path }) => path.startsWith(CONSUMER_LABEL));
  }

  /** All except the objects of routes with one object per key, which cannot be enumerated. */
  get listed(): readonly LayoutShardAddress[] {
    return this.layouts.flatMap(({ layout }) => addressesIn(layout));
  }

  /** Those of small layouts. */
  get askedAlone(): readonly LayoutShardAddress[] {
    return this.layouts.flatMap(({ layout }) => (isLarge(layout) ? [] : addressesIn(layout)));
  }

  /** Those that ask the objects of large layouts. */
  get gatherings(): readonly GatheringObject[] {
    return this.layouts.flatMap(({ layout }) => (isLarge(layout) ? gatheringsOf(layout) : []));
  }

  /** The layouts with an object for each key. */
  get notListed(): readonly string[] {
    return this.layouts.flatMap(({ title, layout }) => (shardCount(layout.shards) === null ? [title] : []));
  }

  /** Keeps no records, only the operators' own state, so that no failing shard affects it. */
  get operators(): ShardAddress {
    return this.#named("operators");
  }

  /**
   * Adds up what all objects have counted, and counts for the isolates. Keeps no records, so that what isolates answer because a
   * shard fails is counted all the same.
   */
  get totals(): LayoutShardAddress {
    return this.#named(TOTALS);
  }

  /** No change of a route moves it: counters would begin anew, and the audit log would be somewhere else. */
  #named(name: string): LayoutShardAddress {
    return { ...this.#gateway, name, layout: "none" };
  }

  /**
   * Where records can be whose ids start with these 8 or more digits. With one object per key, its name contains the whole key
   * hash, so a shorter prefix finds none. A claim with a position lies with its partition, which its id does not tell: where there
   * are consumers, all others follow.
   */
  of(idPrefix: string): readonly LayoutShardAddress[] {
    const byKey = this.#byKey(idPrefix);
    if (!this.#hasConsumers) return byKey;
    const names = new Set(byKey.map(shardTitle));
    return [...byKey, ...this.listed.filter((address) => !names.has(shardTitle(address)))];
  }

  #byKey(idPrefix: string): readonly LayoutShardAddress[] {
    return this.layouts.flatMap(({ layout, title }) =>
      layout.shards === "per-key" && idPrefix.length < KEY_HASH_DIGITS
        ? []
        : [{ ...shardAddressOf(idPrefix, layout), layout: title }],
    );
  }
}

function layoutsOf(routes: readonly Route[]): readonly ConfiguredLayout[] {
  const uses = routes.map(({ methods, path, layouts }) => ({ ...layouts, route: `${methods.join(" ")} ${path}` }));
  const inForce = uses.toReversed().map(({ own, route }) => ({ layout: own, next: null, route }));
  const older = uses
    .toReversed()
    .flatMap(({ own, previous, route }) =>
      previous.map((layout, at) => ({ layout, next: previous[at + 1] ?? own, route })),
    );
  const byName = new Map<string, ConfiguredLayout>();
  // The first route that uses a layout says where its objects are created, so it comes last.
  for (const { layout, next, route } of [...inForce, ...older]) {
    const name = layoutName(layout);
    const others = byName.get(name)?.routes ?? [];
    byName.set(name, { title: layoutTitle(layout), layout, next, routes: [route, ...others] });
  }
  return [...byName.values()];
}

function addressIn(layout: Layout, name: string): LayoutShardAddress {
  const { jurisdiction, locationHint } = layout;
  return { name, jurisdiction, locationHint, layout: layoutTitle(layout) };
}

function addressesIn(layout: Layout): readonly LayoutShardAddress[] {
  return Array.from({ length: shardCount(layout.shards) ?? 0 }, (_, number) =>
    addressIn(layout, numberedName(number, layout.shards)),
  );
}

function isLarge({ shards }: Layout): boolean {
  return (shardCount(shards) ?? 0) > MOST_ASKED_ALONE;
}

function gatheringsOf(layout: Layout): readonly GatheringObject[] {
  const all = shardCount(layout.shards) ?? 0;
  return Array.from({ length: Math.ceil(all / GATHERED_TOGETHER) }, (_, at) => {
    const from = at * GATHERED_TOGETHER;
    const address = addressIn(layout, gatheringName(at, layout.shards));
    return { address, layout, from, count: Math.min(GATHERED_TOGETHER, all - from) };
  });
}

/** The object of a large layout with this number. */
export function gatheredAddress({ layout }: GatheringObject, number: number): LayoutShardAddress {
  return addressIn(layout, numberedName(number, layout.shards));
}
