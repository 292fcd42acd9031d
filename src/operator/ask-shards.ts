// Asks each shard one question and continues without those that do not answer: when one fails, an operator needs the others
// most. The caller names the unreachable ones, so that a missing count is never shown as zero.

import { firstOf } from "../kernel/request/first-of.ts";
import type { JsonCall } from "../kernel/call.ts";
import { type CallsOf, callsOf } from "../kernel/object/itty.ts";
import { type ShardAddress, shardTitle } from "../kernel/object/shard-address.ts";
import { askObject, shardStub } from "../kernel/object/call-shard.ts";
import type { CountedByShard } from "../kernel/object/totals.ts";
import type { RouteNumbers } from "../kernel/traffic/route-counters.ts";
import { TOTALS_CALL } from "../kernel/object/shard-traffic.ts";
import type { LayoutShardAddress } from "./shards.ts";

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
export type AskShard = <Table extends Readonly<Record<string, JsonCall>>>(table: Table) => CallsOf<Table>;

/** In the order of `addresses`. */
export async function askShards<T>(
  namespace: DurableObjectNamespace,
  addresses: readonly LayoutShardAddress[],
  question: (shard: AskShard) => Promise<T>,
): Promise<readonly ShardAnswer<T>[]> {
  const answers: ShardAnswer<T>[] = [];
  for (let at = 0; at < addresses.length; at += SHARDS_AT_ONCE) {
    const some = addresses.slice(at, at + SHARDS_AT_ONCE).map(async (address) => {
      const stub = shardStub(namespace, address);
      const answer = await unlessSilent(
        address,
        question((table) => callsOf(table, stub)),
      );
      return { shard: shardTitle(address), layout: address.layout, answer };
    });
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

/** Has the totals' object remember these numbers, and returns the totals. */
export function addUp(
  namespace: DurableObjectNamespace,
  totals: ShardAddress,
  counted: readonly CountedByShard[],
): Promise<readonly RouteNumbers[]> {
  return askObject(shardStub(namespace, totals), TOTALS_CALL, counted);
}

/** The answer of a shard; `null` when it is unreachable. */
export async function unlessSilent<T>(address: ShardAddress, answer: Promise<T>): Promise<T | null> {
  try {
    const heard = await firstOf(
      answer.then((value) => ({ value })),
      SILENT_AFTER_MS,
    );
    if (heard === null) throw new Error(`no answer within ${SILENT_AFTER_MS} ms`);
    return heard.value;
  } catch (error) {
    console.warn({ message: "shard unreachable", shard: shardTitle(address), reason: String(error) });
    return null;
  }
}

/** The first of these addresses that has it, asked one after the other; `null`: none has. */
export async function firstWith(
  addresses: readonly LayoutShardAddress[],
  has: (address: LayoutShardAddress) => Promise<boolean>,
): Promise<LayoutShardAddress | null> {
  for (const address of addresses) if (await has(address)) return address;
  return null;
}
