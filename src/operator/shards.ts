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
  /** Only these of them; absent: all. */
  readonly only?: readonly number[];
}

/**
 * A layout with more objects is large: gathering objects ask them. Must never change: the totals know what an object of a small layout has counted by
 * its own name, and those of a large one by that of its gathering object.
 */
export const MOST_ASKED_ALONE = 128;

/** Where the objects are that belong to no route. */
export type OperatorsLayout = Pick<Layout, "jurisdiction" | "locationHint">;

const ANYWHERE: OperatorsLayout = { jurisdiction: null, locationHint: null };

/** Objects that are not asked, because no client has used them: a question would create them where the asking Worker runs. */
export interface AskableObjects {
  /** Whether there may be such objects in a layout. */
  readonly isNarrowed: (layout: ConfiguredLayout) => boolean;
  /** The names of those that are asked, for each of these layouts; `null`: all of it. Never rejects. */
  readonly which: (layouts: readonly ConfiguredLayout[]) => Promise<readonly (ReadonlySet<string> | null)[]>;
  /** All of the layout were asked, and these have something. */
  readonly note: (layout: ConfiguredLayout, numbers: readonly number[]) => Promise<void>;
}

/** Whether an object may be asked. */
export type IsAskable = (address: LayoutShardAddress) => boolean;

export const ALL_ASKABLE: IsAskable = () => true;

export class ShardDirectory {
  /** Those in force first, then the previous ones, oldest first. */
  readonly layouts: readonly ConfiguredLayout[];
  readonly #gateway: OperatorsLayout;
  readonly #hasConsumers: boolean;

  readonly #askable: AskableObjects | null;

  constructor(routes: readonly Route[], gateway: OperatorsLayout = ANYWHERE, askable: AskableObjects | null = null) {
    this.#askable = askable;
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

  /** Which objects an operator's request asks. To be asked once for each question to all. */
  async askable(): Promise<IsAskable> {
    const narrowed = this.#narrowed;
    if (this.#askable === null || narrowed.length === 0) return ALL_ASKABLE;
    const which = await this.#askable.which(narrowed);
    const byTitle = new Map(narrowed.map(({ title }, at) => [title, which[at] ?? null]));
    return ({ layout, name }) => byTitle.get(layout)?.has(name) ?? true;
  }

  /** Says which objects have something, of layouts of which all were asked. Never rejects. */
  async noteUsed(used: readonly UsedObjects[]): Promise<void> {
    for (const { title, asked, names } of used) {
      const layout = this.#narrowed.find((one) => one.title === title && shardCount(one.layout.shards) === asked);
      const numbers = Array.from({ length: asked }, (_, number) => number).filter((number) =>
        names.has(numberedName(number, layout?.layout.shards ?? asked)),
      );
      // oxlint-disable-next-line no-await-in-loop -- there is one as a rule
      if (layout !== undefined) await logged(this.#askable?.note(layout, numbers));
    }
  }

  get #narrowed(): readonly ConfiguredLayout[] {
    return this.layouts.filter((layout) => this.#askable?.isNarrowed(layout) === true);
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

/** Objects of one layout that have something. */
export interface UsedObjects {
  readonly title: string;
  /** How many objects of the layout have answered. */
  readonly asked: number;
  readonly names: ReadonlySet<string>;
}

async function logged(work: Promise<void> | undefined): Promise<void> {
  try {
    await work;
  } catch (error) {
    console.warn({ message: "used objects could not be noted", reason: String(error) });
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

/** A gathering object that asks the askable ones of its objects; none if there are none. */
export function narrowedGathering(gathering: GatheringObject, isAskable: IsAskable): readonly GatheringObject[] {
  const { from, count } = gathering;
  const numbers = Array.from({ length: count }, (_, at) => from + at);
  const only = numbers.filter((number) => isAskable(gatheredAddress(gathering, number)));
  if (only.length === count) return [gathering];
  return only.length === 0 ? [] : [{ ...gathering, only }];
}

/** The object of a large layout with this number. */
export function gatheredAddress({ layout }: GatheringObject, number: number): LayoutShardAddress {
  return addressIn(layout, numberedName(number, layout.shards));
}
