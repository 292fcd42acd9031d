// Which of the objects that were asked have something, what an object has that is not asked, and how many places of one record are asked.

import type { ShardCounts } from "../kernel/object/operator-calls.ts";
import type { ListPage } from "../kernel/store/record-list.ts";
import type { AskedShard, ShardAnswer, UnreachableObject } from "./ask-shards.ts";
import type { LayoutShardAddress, UsedObjects } from "./shards.ts";

/** A preview and the change after it look for a record twice. */
const MOST_PLACES = 400;

/** The iterator throws after as many objects as one request can ask: then nobody knows whether there is such a record. */
export function* boundedPlaces(places: readonly LayoutShardAddress[]): Iterable<LayoutShardAddress> {
  yield* places.slice(0, MOST_PLACES);
  if (places.length > MOST_PLACES) throw new Error(`not asked: ${places.length - MOST_PLACES} of ${places.length}`);
}

/** Of each layout whose objects have all answered, those that have something. */
export function usedObjects(asked: readonly AskedShard<ShardCounts>[]): readonly UsedObjects[] {
  return [...Map.groupBy(asked, ({ layout }) => layout)].flatMap(([title, all]) => {
    if (all.some(({ answer }) => answer === null)) return [];
    const names = all.flatMap(({ answer, address }) => (answer === null || isUnused(answer) ? [] : [address.name]));
    return [{ title, asked: all.length, names: new Set(names) }];
  });
}

function isUnused({ inFlight, waiting, failed, unknown, lastExpiresAt, closed }: ShardCounts): boolean {
  return inFlight + waiting + failed + unknown === 0 && lastExpiresAt === null && closed === null;
}

/** The page of an object that is not asked. */
export const NOTHING_LISTED: ListPage = { records: [], more: false, matched: 0, parts: 1 };

/** Objects that did not answer, as answers. */
export function silentOnes(unreachable: readonly UnreachableObject[]): readonly ShardAnswer<never>[] {
  return unreachable.map(({ shard, layout }) => ({ shard, layout, answer: null }));
}
