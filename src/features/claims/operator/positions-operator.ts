// What operators see of groups of consumers, over all shards: their open claims, and how far they have read. Each shard is first asked
// for its counts, which are few, and then only those are asked that have a position.

import { CONSUMER_LABEL } from "../../../kernel/record/claim.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { partitionHash } from "../claim-request.ts";
import { callsOf } from "../../../kernel/object/itty.ts";
import { shardStub } from "../../../kernel/object/call-shard.ts";
import { CLAIM_CALLS } from "../object/consumer-calls.ts";
import { shardAddressOf, shardTitle } from "../../../kernel/object/shard-address.ts";
import type { GroupCounts, SeenPosition } from "../object/claim-list.ts";
import type { GroupPartition } from "../object/position-rows.ts";
import { askHolders } from "../../../operator/ask-shards.ts";
import type { RequestedPosition } from "./position-request-schema.ts";
import type { ConsumerGroupView, PositionPageView, PositionSetView, PositionView } from "./positions-schema.ts";
import { collectPages, isoTime, type PageStart } from "../../../operator/shard-pages.ts";
import type { ActionResult } from "../../../operator/audited.ts";
import type { ShardDirectory } from "../../../operator/shards.ts";

export class PositionsOperator {
  readonly #namespace: DurableObjectNamespace;
  readonly #directory: ShardDirectory;
  readonly #groups: readonly Pick<Route, "path" | "layouts">[];

  /** `routes`: all, those of groups among them. */
  constructor(
    namespace: DurableObjectNamespace,
    directory: ShardDirectory,
    routes: readonly Pick<Route, "path" | "layouts">[],
  ) {
    this.#namespace = namespace;
    this.#directory = directory;
    this.#groups = routes.filter(({ path }) => path.startsWith(CONSUMER_LABEL));
  }

  /**
   * Sets where a group goes on: in the object of the partition, and in those of previous layouts that know a position.
   * Rejects when one of them does not answer; the same call may be made again.
   */
  async set({ group, stream, partition, next }: RequestedPosition): Promise<ActionResult<PositionSetView>> {
    const route = this.#groups.find(({ path }) => path === CONSUMER_LABEL + group);
    if (route === undefined) {
      const reason = "group must be the name of a group that CONSUMERS has.";
      return { kind: "refused", why: "no such group", reason };
    }
    const { own, previous } = route.layouts;
    const placedBy = await partitionHash(group, { stream, partition });
    await Promise.all(
      [own, ...previous].map(async (layout) => {
        const calls = callsOf(CLAIM_CALLS, shardStub(this.#namespace, shardAddressOf(placedBy, layout)));
        await calls.setPosition({ route: route.path, stream, partition, next, ifKnown: layout !== own });
      }),
    );
    return { kind: "done", view: { set: true } };
  }

  /** `null` when the cursor is invalid. Rejects when no shard answers. `group`: only this one's; `null`: all. */
  async list(group: string | null, limit: number, cursor: string | null): Promise<PositionPageView | null> {
    const { listed, notListed } = this.#directory;
    const begin = cursor === null ? null : readCursor(cursor);
    const start = cursor === null ? 0 : listed.findIndex((address) => shardTitle(address) === begin?.shard);
    if (start === -1) return null;
    const route = group === null ? null : CONSUMER_LABEL + group;
    const { holders, unreachable, notAsked } = await askHolders(this.#namespace, this.#directory, "claims", (shard) =>
      shard(CLAIM_CALLS).counts(),
    );
    const isWanted = (one: GroupCounts): boolean => route === null || one.route === route;
    const counts = holders.flatMap(({ held }) => held).filter(isWanted);
    const names = new Set(
      holders
        .filter(({ held }) => held.some((one) => one.partitions > 0 && isWanted(one)))
        .map(({ address }) => shardTitle(address)),
    );
    const addresses = listed.slice(start).filter((address) => names.has(shardTitle(address)));
    const { items, next, silent } = await collectPages(addresses, limit, begin, async (address, after, most) => {
      const calls = callsOf(CLAIM_CALLS, shardStub(this.#namespace, address));
      const page = await calls.positions({ route, after, limit: most });
      return { items: page, next: page.at(most - 1) ?? null };
    });
    return {
      groups: groupsOf(
        counts,
        this.#groups.map(({ path }) => path).filter((one) => route === null || one === route),
      ),
      positions: items.map(({ item, shard }) => viewPosition(item, shard)),
      cursor: next === null ? null : writeCursor(next),
      notListed,
      unreachable: [...unreachable, ...silent],
      notAsked,
    };
  }
}

function groupsOf(counts: readonly GroupCounts[], configured: readonly string[]): readonly ConsumerGroupView[] {
  const routes = [...new Set([...configured, ...counts.map(({ route }) => route).toSorted()])];
  return routes.map((route) => {
    const own = counts.filter((one) => one.route === route);
    const sum = (of: "started" | "failed" | "unknown" | "partitions"): number =>
      own.reduce((all, one) => all + one[of], 0);
    const held = own.flatMap(({ heldSince }) => (heldSince === null ? [] : [heldSince]));
    return {
      group: groupOf(route),
      started: sum("started"),
      failed: sum("failed"),
      unknown: sum("unknown"),
      atLeast: own.some(({ atLeast }) => atLeast),
      partitions: sum("partitions"),
      heldSince: held.length === 0 ? null : isoTime(Math.min(...held)),
    };
  });
}

function viewPosition({ route, open, heldSince, ...position }: SeenPosition, shard: string): PositionView {
  return {
    group: groupOf(route),
    ...position,
    openClaims: open,
    heldSince: heldSince === null ? null : isoTime(heldSince),
    shard,
  };
}

function groupOf(route: string): string {
  return route.slice(CONSUMER_LABEL.length);
}

const CURSOR = /^([a-z0-9-]{1,64})~(?:([a-z0-9:-]{1,80})~(\d{1,10})~([\x20-\x7e]{1,255}))?$/;

/** `<shard>~<group>~<partition>~<stream>`; only the shard at its start. */
function writeCursor({ shard, after }: PageStart<GroupPartition>): string {
  return after === null ? `${shard}~` : `${shard}~${after.route}~${after.partition}~${after.stream}`;
}

function readCursor(cursor: string): PageStart<GroupPartition> | null {
  const [, shard, route, partition, stream] = CURSOR.exec(cursor) ?? [];
  if (shard === undefined) return null;
  const after = route === undefined || stream === undefined ? null : { route, stream, partition: Number(partition) };
  return { shard, after };
}
