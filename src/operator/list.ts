// Lists the records of all shards: first the open ones of every shard, then the completed ones. A page asks the shards in
// order, first one and then more at a time, until it is full. The cursor says where it stopped.

import { isClosed } from "../core/record.ts";
import type { RecordFilter } from "./operator.ts";
import { shardTitle } from "../shard/shard-place.ts";
import type { ListQuery } from "../shard/store/list-query.ts";
import type { ListPage, SeenRecord } from "../shard/store/record-list.ts";
import type { LaidPlace } from "./shards.ts";

/** Shards asked at the same time, at most. The platform opens six connections; the others queue briefly. */
const SHARDS_AT_ONCE = 16;
const GROWTH = 4;

type Section = ListQuery["section"];

/** One section of one shard. */
interface ShardSection {
  readonly section: Section;
  readonly place: LaidPlace;
}

export interface ListedRecord extends SeenRecord {
  readonly shard: string;
  readonly layout: string;
}

export interface Listed {
  readonly records: readonly ListedRecord[];
  readonly cursor: string | null;
  /** Shards that did not answer. */
  readonly unreachable: readonly string[];
}

/** `null` when the shard is unreachable. */
export type Ask = (place: LaidPlace, query: Pick<ListQuery, "section" | "after">) => Promise<ListPage | null>;

/** `null` when the cursor belongs to no shard. The shards in `known` are already known to be unreachable. */
export async function listRecords(
  places: readonly LaidPlace[],
  sections: readonly Section[],
  cursor: string | null,
  limit: number,
  ask: Ask,
  known: readonly string[] = [],
): Promise<Listed | null> {
  const parts = sections.flatMap((section) => places.map((place): ShardSection => ({ section, place })));
  const begin = cursor === null ? { at: 0, after: null } : readCursor(cursor, parts);
  if (begin === null) return null;
  const records: ListedRecord[] = [];
  // Each is waited for once, not again in the next section.
  const unreachable = new Set(known);
  let { at, after } = begin;
  for (let width = 1; at < parts.length; width = Math.min(width * GROWTH, SHARDS_AT_ONCE)) {
    const batch = parts.slice(at, at + width);
    const first = after;
    const pages = await Promise.all(
      batch.map(async (part, index) => ({
        part,
        page: unreachable.has(shardTitle(part.place))
          ? null
          : await ask(part.place, { section: part.section, after: index === 0 ? first : null }),
      })),
    );
    for (const { part, page } of pages) {
      if (page === null) {
        unreachable.add(shardTitle(part.place));
        at += 1;
        continue;
      }
      const taken = page.records.slice(0, limit - records.length);
      const shard = { shard: shardTitle(part.place), layout: part.place.layout };
      records.push(...taken.map((record) => ({ ...record, ...shard })));
      const isCut = taken.length < page.records.length;
      const stopped = isCut ? (taken.at(-1)?.at ?? "") : page.next;
      if (stopped !== null) return { records, cursor: writeCursor(part, stopped), unreachable: [...unreachable] };
      at += 1;
    }
    after = null;
  }
  return { records, cursor: null, unreachable: [...unreachable] };
}

/** The sections that a filter can match. */
export function sectionsFor({ key, idPrefix, states }: RecordFilter): readonly Section[] {
  if (key !== null || idPrefix !== null) return ["key"];
  const sections: Section[] = [];
  if (states.length === 0 || !states.every(isClosed)) sections.push("open");
  if (states.length === 0 || states.some(isClosed)) sections.push("completed");
  return sections;
}

/** `<section>~<shard>~<position>`; the position is empty at the start. */
function writeCursor({ section, place }: ShardSection, after: string): string {
  return `${section}~${shardTitle(place)}~${after}`;
}

const CURSOR = /^(open|completed|key)~([a-z0-9-]{1,64})~((?:bucket|failed|unknown)\.\d{1,10}\.\d{1,10})?$/;

function readCursor(
  cursor: string,
  parts: readonly ShardSection[],
): { readonly at: number; readonly after: string | null } | null {
  const [, section, title, after = ""] = CURSOR.exec(cursor) ?? [];
  const at = parts.findIndex((part) => part.section === section && shardTitle(part.place) === title);
  return at === -1 ? null : { at, after: after === "" ? null : after };
}
