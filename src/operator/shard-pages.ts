// Pages of lists that shards keep in their own order: read shard by shard, in turn, until a page is full. Shared by the lists of events
// and of positions, with what their requests have in common.

import { shardTitle } from "../kernel/object/shard-address.ts";
import { OTHER_HALF } from "./asking-plan.ts";
import { unlessSilent } from "./ask-shards.ts";
import { LIST_LIMITS, type ParsedRequest } from "./request-schema.ts";
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

export interface PageQuery {
  readonly limit: number;
  readonly cursor: string | null;
}

/** `filters`: the parameters that the list has besides `limit` and `cursor`. */
export function parsePageQuery(query: URLSearchParams, filters: readonly string[]): ParsedRequest<PageQuery> {
  const parameters = [...filters, "limit", "cursor"];
  const unknown = [...query.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) return refuseList(`Unknown parameter: write one of ${parameters.join(", ")}.`);
  const repeated = parameters.find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return refuseList(`${repeated} is given more than once: write it once.`);
  const { defaultLimit, maxLimit } = LIST_LIMITS;
  const limit = query.get("limit") ?? String(defaultLimit);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxLimit) {
    return refuseList(`limit must be a whole number from 1 to ${maxLimit}.`);
  }
  return { ok: true, value: { limit: Number(limit), cursor: query.get("cursor") } };
}

export function refuseList(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}
