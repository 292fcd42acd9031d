// Lists the records of all shards, the last attempt that started latest first. Each shard sorts its own, and a page merges what they
// give. A list of many records is read in parts (shard/store/list-parts.ts), each of which is in order over all shards.

import { shardTitle } from "../shard/shard-place.ts";
import { compareNewest, type ListPosition, type ListQuery } from "../shard/store/list-query.ts";
import { type ListPage, positionOf, type SeenRecord } from "../shard/store/record-list.ts";
import { FIRST, isEdge, type PageBegin, readCursor, writeCursor } from "./list-cursor.ts";
import type { RecordTotal, ShownParts } from "./operator.ts";
import type { LaidPlace } from "./shards.ts";

/** Shards asked at the same time, at most. The platform opens six connections; the others queue briefly. */
const SHARDS_AT_ONCE = 16;
/** A page that is not full begins no further part after so many calls: a Worker may make a thousand. */
const MAX_CALLS = 250;
/** By how much what a shard is asked for exceeds its share of a page, so that most are asked once. */
const SHARE = 2;
const SPARE = 4;

export interface ListedRecord extends SeenRecord {
  readonly shard: string;
  readonly layout: string;
}

export interface Listed {
  readonly records: readonly ListedRecord[];
  /** Of the next page. */
  readonly cursor: string | null;
  readonly previous: string | null;
  readonly total: RecordTotal;
  readonly parts: ShownParts;
  /** Shards that did not answer. */
  readonly unreachable: readonly string[];
}

/** What differs from call to call; the filter does not. */
export type Asked = Pick<ListQuery, "parts" | "part" | "direction" | "position" | "limit">;

/** `null` when the shard is unreachable. */
export type Ask = (place: LaidPlace, asked: Asked) => Promise<ListPage | null>;

/** `null` when no list has written the cursor, or a shard has grown too much since. The shards in `known` are known to be unreachable. */
export async function listRecords(
  places: readonly LaidPlace[],
  cursor: string | null,
  limit: number,
  ask: Ask,
  known: readonly string[] = [],
): Promise<Listed | null> {
  const begin = cursor === null ? FIRST : readCursor(cursor);
  if (begin === null) return null;
  const isForward = begin.direction === "after";
  const asking = new Asking(places, begin, limit, ask, known);
  const found: Found[] = [];
  let [matched, looked] = [0, 0];
  let { part, position } = begin;
  let ahead: PageBegin | null;
  let parts: number;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a part is read when those before it have not filled the page
    const opened = await asking.open(part, position);
    if (opened === null) return null;
    ({ parts, part } = opened);
    // oxlint-disable-next-line no-await-in-loop
    const isOver = await asking.merge(opened.streams, found);
    matched += opened.streams.reduce((sum, stream) => sum + stream.matched, 0);
    looked += 1;
    if (asking.hasGrown) return null;
    if (!isOver) {
      ahead = { ...begin, parts, part, position: found.at(-1)?.position ?? null };
      break;
    }
    const next = part + (isForward ? 1 : -1);
    ahead = next < 0 || next >= parts ? null : { ...begin, parts, part: next, position: null };
    if (ahead === null || found.length === limit || asking.calls >= MAX_CALLS) break;
    [part, position] = [next, null];
  }
  const [first] = found;
  const back: PageBegin = {
    direction: isForward ? "before" : "after",
    parts,
    // A page without records leads back from where it ended: nothing is in between.
    part: first?.part ?? part,
    position: first?.position ?? null,
  };
  const [aheadCursor, backCursor] = [ahead, isEdge(begin) ? null : back].map((at) =>
    at === null ? null : writeCursor(at),
  );
  const records = found.map(({ record }) => record);
  const others = part - (looked - 1) * (isForward ? 1 : -1);
  return {
    records: isForward ? records : records.toReversed(),
    cursor: (isForward ? aheadCursor : backCursor) ?? null,
    previous: (isForward ? backCursor : aheadCursor) ?? null,
    total: {
      count: Math.round((matched / looked) * parts),
      isExact: looked === parts && asking.unreachable.size === 0,
    },
    parts: { first: 1 + Math.min(part, others), last: 1 + Math.max(part, others), count: parts },
    unreachable: [...asking.unreachable],
  };
}

/** A record of the page, and where it is. */
interface Found {
  readonly record: ListedRecord;
  readonly part: number;
  readonly position: ListPosition;
}

/** What one shard has of a part, as far as it has been read. */
interface Stream {
  readonly place: LaidPlace;
  readonly part: number;
  readonly matched: number;
  /** What was read and is not in the page yet, from `taken` on. */
  buffer: readonly Found[];
  taken: number;
  more: boolean;
}

/** One page being read. */
class Asking {
  readonly #places: readonly LaidPlace[];
  readonly #begin: PageBegin;
  readonly #limit: number;
  readonly #ask: Ask;
  /** Each is waited for once, not again in the next part. */
  readonly unreachable: Set<string>;
  #parts: number | null;
  calls = 0;
  /** Whether a shard has too many records by now for the parts of the cursor. */
  hasGrown = false;

  constructor(places: readonly LaidPlace[], begin: PageBegin, limit: number, ask: Ask, known: readonly string[]) {
    this.#places = places;
    this.#begin = begin;
    this.#limit = limit;
    this.#ask = ask;
    this.unreachable = new Set(known);
    this.#parts = begin.parts;
  }

  /** Asks every shard for the beginning of what it has of a part; `null`: one has grown too much for so many parts. */
  async open(
    part: number | null,
    position: ListPosition | null,
  ): Promise<{ readonly parts: number; readonly part: number; readonly streams: readonly Stream[] } | null> {
    const { direction } = this.#begin;
    const limit = Math.min(this.#limit, Math.ceil((SHARE * this.#limit) / this.#places.length) + SPARE);
    const ask = (places: readonly LaidPlace[], parts: number | null): Promise<readonly Opened[]> =>
      inBatches(places, async (place) => ({
        place,
        page: await this.#call(place, { parts, part, direction, position, limit }),
      }));
    const asked = this.#parts;
    let opened = await ask(this.#places, asked);
    const parts = asked ?? Math.max(1, ...opened.map(({ page }) => page?.parts ?? 1));
    if (asked === null) {
      // Those that need fewer parts are asked again, so that all have the same.
      const fewer = opened.filter(({ page }) => page !== null && page.parts < parts).map(({ place }) => place);
      const again = await ask(fewer, parts);
      opened = opened.map((one) => again.find(({ place }) => place === one.place) ?? one);
    }
    if (opened.some(({ page }) => page !== null && page.parts !== parts)) return null;
    this.#parts = parts;
    const number = part ?? (direction === "after" ? 0 : parts - 1);
    const streams = opened.flatMap(({ place, page }) => (page === null ? [] : [streamOf(place, number, page)]));
    return { parts, part: number, streams };
  }

  /** Takes records in order until the page is full or the part has ended; says whether it has ended. */
  async merge(streams: readonly Stream[], found: Found[]): Promise<boolean> {
    const sign = this.#begin.direction === "after" ? 1 : -1;
    while (found.length < this.#limit) {
      const dry = streams.filter((stream) => stream.more && headOf(stream) === undefined);
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
    const { place, part, buffer } = stream;
    const position = buffer.at(-1)?.position ?? null;
    const page = await this.#call(place, { parts: this.#parts, part, direction, position, limit });
    if (page !== null && page.parts !== this.#parts) this.hasGrown = true;
    stream.buffer = page === null ? [] : foundIn(place, part, page);
    stream.taken = 0;
    stream.more = page?.more ?? false;
  }

  async #call(place: LaidPlace, asked: Asked): Promise<ListPage | null> {
    const shard = shardTitle(place);
    if (this.unreachable.has(shard)) return null;
    this.calls += 1;
    const page = await this.#ask(place, asked);
    if (page === null) this.unreachable.add(shard);
    return page;
  }
}

interface Opened {
  readonly place: LaidPlace;
  readonly page: ListPage | null;
}

function streamOf(place: LaidPlace, part: number, page: ListPage): Stream {
  const { matched, more } = page;
  return { place, part, matched, buffer: foundIn(place, part, page), taken: 0, more };
}

function foundIn(place: LaidPlace, part: number, { records }: ListPage): readonly Found[] {
  const shard = shardTitle(place);
  return records.map((record) => ({
    record: { ...record, shard, layout: place.layout },
    part,
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
