// Asks each shard one question and continues without those that do not answer: when one fails, an operator needs the others
// most. The caller names the unreachable ones, so that a missing count is never shown as zero.

import { firstOf } from "../kernel/request/first-of.ts";
import type { Call } from "../kernel/call.ts";
import { type Asking, asking } from "../kernel/object/itty.ts";
import { type ShardPlace, shardTitle } from "../kernel/object/shard-place.ts";
import { askObject, shardStub } from "../kernel/object/call-shard.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import type { RouteNumbers } from "../kernel/traffic/route-counters.ts";
import { TOTALS_CALL } from "../kernel/object/shard-traffic.ts";
import type { LaidPlace } from "./shards.ts";

/** One shard's answer; `null` when it failed or did not answer in time. */
export interface ShardAnswer<T> {
  readonly shard: string;
  readonly layout: string;
  readonly answer: T | null;
}

/** Objects asked at the same time: enough to be fast, few enough for one Worker. */
const SHARDS_AT_ONCE = 64;

/** Even a busy shard answers within a fraction of this, and no operator should have to wait longer. */
export const SILENT_AFTER_MS = 5_000;

/** Asks one shard the questions of a table. */
export type AskShard = <Table extends Readonly<Record<string, Call>>>(table: Table) => Asking<Table>;

/** In the order of `places`. */
export async function askShards<T>(
  namespace: DurableObjectNamespace,
  places: readonly LaidPlace[],
  question: (shard: AskShard) => Promise<T>,
): Promise<readonly ShardAnswer<T>[]> {
  const answers: ShardAnswer<T>[] = [];
  for (let at = 0; at < places.length; at += SHARDS_AT_ONCE) {
    const some = places.slice(at, at + SHARDS_AT_ONCE).map(async (place) => {
      const stub = shardStub(namespace, place);
      const answer = await unlessSilent(
        place,
        question((table) => asking(table, stub)),
      );
      return { shard: shardTitle(place), layout: place.layout, answer };
    });
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

/** Has the totals' object remember these numbers, and returns the totals. */
export function addUp(
  namespace: DurableObjectNamespace,
  totals: ShardPlace,
  counted: readonly CountedByShard[],
): Promise<readonly RouteNumbers[]> {
  return askObject(shardStub(namespace, totals), TOTALS_CALL, counted);
}

/** The answer of a shard; `null` when it is unreachable. */
export async function unlessSilent<T>(place: ShardPlace, answer: Promise<T>): Promise<T | null> {
  try {
    const heard = await firstOf(
      answer.then((value) => ({ value })),
      SILENT_AFTER_MS,
    );
    if (heard === null) throw new Error(`no answer within ${SILENT_AFTER_MS} ms`);
    return heard.value;
  } catch (error) {
    console.warn({ message: "shard unreachable", shard: shardTitle(place), reason: String(error) });
    return null;
  }
}

/** The first of these places that has it, asked one after the other; `null`: none has. */
export async function firstWith(
  places: readonly LaidPlace[],
  has: (place: LaidPlace) => Promise<boolean>,
): Promise<LaidPlace | null> {
  for (const place of places) if (await has(place)) return place;
  return null;
}
