// Lists the records of a group of shards, the last attempt that started latest first. Each shard sorts its own, and a page merges what they
// give. A list of many records is read in parts (kernel/store/list-parts.ts), each of which is in order over all shards.

import { shardTitle } from "../kernel/object/shard-address.ts";
import { compareNewest, type ListPosition, type ListQuery } from "../kernel/store/list-query.ts";
import { type ListPage, positionOf, type SeenRecord } from "../kernel/store/record-list.ts";
import type { PageBegin } from "./list-cursor.ts";
import type { RecordTotal, ShownParts } from "./operator.ts";
import type { LayoutShardAddress } from "./shards.ts";

/** Shards asked at the same time, at most. The platform opens six connections; the others queue briefly. */
const SHARDS_AT_ONCE = 16;
/** A page that is not full begins no further part after so many calls, because somebody waits for it. */
const MANY_CALLS = 250;
/** By how much what a shard is asked for exceeds its share of a page, so that most are asked once. */
const SHARE = 2;
const SPARE = 4;

export interface ListedRecord extends SeenRecord {
  readonly shard: string;
  readonly layout: string;
}

/** A page of a group of shards. */
export interface GroupPage {
  /** In the direction of the page. */
  readonly records: readonly ListedRecord[];
  /** Where the next page begins; `null`: the group has ended. */
  readonly ahead: PageBegin | null;
  /** Where the page before begins, which may be outside of the group. */
  readonly back: PageBegin;
  readonly total: RecordTotal;
  readonly parts: ShownParts;
  readonly unreachable: readonly string[];
}

/** How many calls a page may still make. */
export interface CallsLeft {
  count: number;
}

/** What differs from call to call; the filter does not. */
export type ListPart = Pick<ListQuery, "parts" | "part" | "direction" | "position" | "limit">;

/** `null` when the shard is unreachable. */
export type AskForList = (address: LayoutShardAddress, asked: ListPart) => Promise<ListPage | null>;

/**
 * `null` when a shard has grown too much since the cursor was written, or the calls do not suffice to begin. The shards in `known` are known to be
 * unreachable.
 */
export async function listRecords(
  addresses: readonly LayoutShardAddress[],
  begin: PageBegin,
  limit: number,
  ask: AskForList,
  known: readonly string[],
  left: CallsLeft,
): Promise<GroupPage | null> {
  const isForward = begin.direction === "after";
  const asking = new Asking(addresses, begin, limit, ask, known, left);
  const found: Found[] = [];
  let matched = 0;
  /** How much of the whole list was read. */
  let share = 0;
  let entered: PartOf | null = null;
  let { part, position } = begin;
  let ahead: PageBegin | null;
  let parts: number;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a part is read when those before it have not filled the page
    const opened = await asking.open(part, position);
    if (opened === null) return null;
    ({ parts, part } = opened);
    entered ??= { parts, part };
    const before = found.length;
    // oxlint-disable-next-line no-await-in-loop
    const isOver = await asking.merge(opened.streams, found);
    matched += opened.streams.reduce((sum, stream) => sum + stream.matched, 0);
    share += 1 / parts;
    if (asking.hasGrown) return null;
    if (!isOver) {
      const last = found.length > before ? (found.at(-1)?.position ?? null) : position;
      ahead = { ...begin, parts, part, position: last };
      break;
    }
    const next = part + (isForward ? 1 : -1);
    ahead = next < 0 || next >= parts ? null : { ...begin, parts, part: next, position: null };
    if (ahead === null || found.length === limit || asking.calls >= MANY_CALLS) break;
    if (addresses.length > left.count) break;
    [part, position] = [next, null];
  }
  const [first] = found;
  // In parts of the last one's size.
  const begun = Math.floor(firstWithin(entered.part, parts / entered.parts, begin.direction));
  return {
    records: found.map(({ record }) => record),
    ahead,
    back: {
      ...begin,
      direction: isForward ? "before" : "after",
      parts,
      part,
      // A page without records leads back from where it ended: nothing is in between.
      ...first?.of,
      position: first?.position ?? null,
    },
    total: {
      count: Math.round(matched / share),
      // Each share is a power of two, so the sum is exact.
      isExact: share === 1 && asking.unreachable.size === 0,
    },
    parts: { first: 1 + Math.min(part, begun), last: 1 + Math.max(part, begun), count: parts },
    unreachable: [...asking.unreachable],
  };
}

interface PartOf {
  readonly parts: number;
  readonly part: number;
}

/** A record of the page, and where it is. */
interface Found {
  readonly record: ListedRecord;
  readonly of: PartOf;
  readonly position: ListPosition;
}

/** What one shard has of a part, as far as it has been read. */
interface Stream {
  readonly address: LayoutShardAddress;
  readonly of: PartOf;
  readonly matched: number;
  /** What was read and is not in the page yet, from `taken` on. */
  buffer: readonly Found[];
  taken: number;
  more: boolean;
}

/** One page being read. */
class Asking {
  readonly #addresses: readonly LayoutShardAddress[];
  readonly #begin: PageBegin;
  readonly #limit: number;
  readonly #ask: AskForList;
  readonly #left: CallsLeft;
  /** Each is waited for once, not again in the next part. */
  readonly unreachable: Set<string>;
  #parts: number | null;
  calls = 0;
  /** Whether a shard has too many records by now for the parts of the cursor. */
  hasGrown = false;

  constructor(
    addresses: readonly LayoutShardAddress[],
    begin: PageBegin,
    limit: number,
    ask: AskForList,
    known: readonly string[],
    left: CallsLeft,
  ) {
    this.#left = left;
    this.#addresses = addresses;
    this.#begin = begin;
    this.#limit = limit;
    this.#ask = ask;
    this.unreachable = new Set(known);
    this.#parts = begin.parts;
  }

  /**
   * Asks every shard for the beginning of what it has of a part, or of a part of it; `null`: one has grown too much for it, or the calls do not suffice.
   */
  async open(
    wanted: number | null,
    position: ListPosition | null,
  ): Promise<{ readonly parts: number; readonly part: number; readonly streams: readonly Stream[] } | null> {
    const { direction } = this.#begin;
    const limit = Math.min(this.#limit, Math.ceil((SHARE * this.#limit) / this.#addresses.length) + SPARE);
    const ask = (
      addresses: readonly LayoutShardAddress[],
      parts: number | null,
      part: number | null,
    ): Promise<readonly Opened[]> =>
      inBatches(addresses, async (address) => ({
        address,
        page: await this.#call(address, { parts, part, direction, position, limit }),
      }));
    let [parts, part] = [this.#parts, wanted];
    let opened = await ask(this.#addresses, parts, part);
    for (;;) {
      const needed = Math.max(parts ?? 1, ...opened.map(({ page }) => page?.parts ?? 1));
      // Those that have answered for other parts are asked again, so that all have the same.
      const others = opened.filter(
        ({ page }) => page !== null && (page.parts !== needed || (parts ?? needed) !== needed),
      );
      if (others.length === 0) {
        parts = needed;
        break;
      }
      if (parts !== null) {
        // Clients choose what their keys hash to, so some parts may have more records than others: one that has not begun can be divided.
        if (position !== null) return null;
        if (part !== null) part = firstWithin(part, needed / parts, direction);
      }
      parts = needed;
      if (others.length > this.#left.count) return null;
      // oxlint-disable-next-line no-await-in-loop
      const again = await ask(
        others.map(({ address }) => address),
        parts,
        part,
      );
      opened = opened.map((one) => again.find(({ address }) => address === one.address) ?? one);
    }
    this.#parts = parts;
    const opening = { parts, part: part ?? (direction === "after" ? 0 : parts - 1) };
    const streams = opened.flatMap(({ address, page }) => (page === null ? [] : [streamOf(address, opening, page)]));
    return { ...opening, streams };
  }

  /** Takes records in order until the page is full, the part has ended or the calls do not suffice; says whether it has ended. */
  async merge(streams: readonly Stream[], found: Found[]): Promise<boolean> {
    const sign = this.#begin.direction === "after" ? 1 : -1;
    while (found.length < this.#limit) {
      const dry = streams.filter((stream) => stream.more && headOf(stream) === undefined);
      if (dry.length > this.#left.count) return false;
      // oxlint-disable-next-line no-await-in-loop -- most shards are asked once
      await inBatches(dry, (stream) => this.#refill(stream, this.#limit - found.length));
      let next: Stream | null = null;
      let first: Found | null = null;
      for (const stream of streams) {
        const head = headOf(stream);
        if (head === undefined || (first !== null && sign * compareNewest(head.position, first.position) > 0)) continue;
        [next, first] = [stream, head];
      }
      if (next === null || first === null) return true;
      next.taken += 1;
      found.push(first);
    }
    return streams.every((stream) => !stream.more && headOf(stream) === undefined);
  }

  /** A shard that has more of a page than its share is asked for all that is wanted. */
  async #refill(stream: Stream, limit: number): Promise<void> {
    const { direction } = this.#begin;
    const { address, of, buffer } = stream;
    const position = buffer.at(-1)?.position ?? null;
    const page = await this.#call(address, { ...of, direction, position, limit });
    if (page !== null && page.parts !== of.parts) this.hasGrown = true;
    stream.buffer = page === null ? [] : foundIn(address, of, page);
    stream.taken = 0;
    stream.more = page?.more ?? false;
  }

  async #call(address: LayoutShardAddress, asked: ListPart): Promise<ListPage | null> {
    const shard = shardTitle(address);
    if (this.unreachable.has(shard)) return null;
    this.calls += 1;
    this.#left.count -= 1;
    const page = await this.#ask(address, asked);
    if (page === null) this.unreachable.add(shard);
    return page;
  }
}

interface Opened {
  readonly address: LayoutShardAddress;
  readonly page: ListPage | null;
}

function streamOf(address: LayoutShardAddress, of: PartOf, page: ListPage): Stream {
  const { matched, more } = page;
  return { address, of, matched, buffer: foundIn(address, of, page), taken: 0, more };
}

/** The first in this direction of so many parts of one. */
function firstWithin(part: number, count: number, direction: ListPart["direction"]): number {
  return direction === "after" ? part * count : (part + 1) * count - 1;
}

function foundIn(address: LayoutShardAddress, of: PartOf, { records }: ListPage): readonly Found[] {
  const shard = shardTitle(address);
  return records.map((record) => ({
    record: { ...record, shard, layout: address.layout },
    of,
    position: positionOf(record),
  }));
}

function headOf({ buffer, taken }: Stream): Found | undefined {
  return buffer[taken];
}

async function inBatches<One, Result>(
  all: readonly One[],
  run: (one: One) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < all.length; at += SHARDS_AT_ONCE) {
    // oxlint-disable-next-line no-await-in-loop
    results.push(...(await Promise.all(all.slice(at, at + SHARDS_AT_ONCE).map(run))));
  }
  return results;
}
