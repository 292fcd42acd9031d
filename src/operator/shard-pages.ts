// Pages of lists that shards keep in their own order: read shard by shard, in turn, until a page is full. Shared by the lists of events
// and of positions, with what their requests have in common.

import { shardTitle } from "../kernel/object/shard-address.ts";
import { OTHER_HALF } from "./asking-plan.ts";
import { unlessSilent } from "./ask-shards.ts";
import type { LayoutShardAddress } from "./shards.ts";

/** Where a page begins: in a shard, after something there; `null`: at its start. */
export interface PageStart<After> {
  readonly shard: string;
  readonly after: After | null;
}

export interface CollectedPages<Item, After> {
  readonly items: readonly { readonly item: Item; readonly shard: string }[];
  /** `null`: this was the last page. */
  readonly next: PageStart<After> | null;
  /** Shards that did not answer. */
  readonly silent: readonly string[];
}

/**
 * `ask` reads at most so many of one shard; its `next` is `null` at the end. A page is full after a few shards, so they are asked in turn. It ends after
 * OTHER_HALF calls.
 */
export async function collectPages<Item, After>(
  addresses: readonly LayoutShardAddress[],
  limit: number,
  begin: PageStart<After> | null,
  ask: (
    address: LayoutShardAddress,
    after: After | null,
    limit: number,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: After | null }>,
): Promise<CollectedPages<Item, After>> {
  const items: { readonly item: Item; readonly shard: string }[] = [];
  const silent: string[] = [];
  let calls = 0;
  for (const address of addresses) {
    const shard = shardTitle(address);
    calls += 1;
    if (items.length === limit || calls > OTHER_HALF) return { items, next: { shard, after: null }, silent };
    const page = await unlessSilent(
      address,
      ask(address, shard === begin?.shard ? begin.after : null, limit - items.length),
    );
    if (page === null) {
      silent.push(shard);
      continue;
    }
    items.push(...page.items.map((item) => ({ item, shard })));
    if (page.next !== null) return { items, next: { shard, after: page.next }, silent };
  }
  return { items, next: null, silent };
}

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
