// Lists the records of all shards in groups: so many shards that a page asks all of a group at once. A list of one group is in order over all
// shards. With several, a page goes on with the next group where one has ended, as long as its calls suffice.

import { FIRST, isEdge, type PageBegin, readCursor, writeCursor } from "./list-cursor.ts";
import { type AskForList, type GroupPage, type ListedRecord, listRecords } from "./list.ts";
import { MAX_CALLS } from "./asking-plan.ts";
import type { RecordTotal, ShownParts } from "./operator.ts";
import type { LayoutShardAddress } from "./shards.ts";

/** Each may be asked twice when a page begins, and the others get what is left of the page's calls. */
const SHARDS_OF_GROUP = 256;
/** So many calls let every page begin. */
export const FEWEST_CALLS = 640;

export interface ListResult {
  readonly records: readonly ListedRecord[];
  /** Of the next page. */
  readonly cursor: string | null;
  readonly previous: string | null;
  readonly total: RecordTotal;
  readonly parts: ShownParts;
  /** Shards that did not answer. */
  readonly unreachable: readonly string[];
  /** How many it took. */
  readonly calls: number;
}

/** `null` when no list has written the cursor, or a shard has grown too much since. Makes at most `maxCalls` calls, FEWEST_CALLS or more. */
export async function listInGroups(
  addresses: readonly LayoutShardAddress[],
  cursor: string | null,
  limit: number,
  ask: AskForList,
  known: readonly string[] = [],
  maxCalls = MAX_CALLS,
): Promise<ListResult | null> {
  const groups = groupsOf(addresses);
  const begin = cursor === null ? FIRST : readCursor(cursor);
  if (begin === null) return null;
  const isForward = begin.direction === "after";
  const [edge, step] = isForward ? [0, 1] : [groups.length - 1, -1];
  const pages: ShownPage[] = [];
  let at: PageBegin = { ...begin, group: begin.group ?? edge };
  let ahead: PageBegin | null = at;
  let missing = limit;
  const left = { count: maxCalls };
  for (;;) {
    const group: number = at.group ?? edge;
    const members = groups[group];
    if (members === undefined) return null;
    if (pages.length > 0 && (missing === 0 || members.length > left.count)) break;
    // oxlint-disable-next-line no-await-in-loop -- a group is read when those before it have not filled the page
    const page = await listRecords(members, at, missing, ask, known, left);
    if (page === null && pages.length === 0) return null;
    // The next page begins with this group.
    if (page === null) break;
    pages.push({ group, page });
    missing -= page.records.length;
    ({ ahead } = page);
    const next = group + step;
    if (ahead !== null || groups[next] === undefined) break;
    at = { ...FIRST, direction: begin.direction, group: next };
    ahead = at;
  }
  const isWhole = isEdge(begin) && (begin.group ?? edge) === edge;
  const { page: first } = pages.find(({ page }) => page.records.length > 0) ?? pages.at(-1) ?? { page: null };
  const [aheadCursor, backCursor] = [ahead, isWhole ? null : (first?.back ?? null)].map((where) =>
    where === null ? null : writeCursor(where, groups.length > 1),
  );
  const records = pages.flatMap(({ page }) => page.records);
  return {
    records: isForward ? records : records.toReversed(),
    cursor: (isForward ? aheadCursor : backCursor) ?? null,
    previous: (isForward ? backCursor : aheadCursor) ?? null,
    total: totalOf(pages, groups.length),
    parts: partsOf(pages, groups.length),
    unreachable: [...new Set([...known, ...pages.flatMap(({ page }) => page.unreachable)])],
    calls: maxCalls - left.count,
  };
}

interface ShownPage {
  readonly group: number;
  readonly page: GroupPage;
}

function groupsOf(addresses: readonly LayoutShardAddress[]): readonly (readonly LayoutShardAddress[])[] {
  const count = Math.max(1, Math.ceil(addresses.length / SHARDS_OF_GROUP));
  return Array.from({ length: count }, (_, at) => addresses.slice(at * SHARDS_OF_GROUP, (at + 1) * SHARDS_OF_GROUP));
}

/** Keys are spread evenly over shards, so other groups have about as many. */
function totalOf(pages: readonly ShownPage[], groups: number): RecordTotal {
  const sum = pages.reduce((all, { page }) => all + page.total.count, 0);
  return {
    count: Math.round((sum * groups) / Math.max(1, pages.length)),
    isExact: pages.length === groups && pages.every(({ page }) => page.total.isExact),
  };
}

/** All groups are counted in parts of the same size: their numbers are powers of two. */
function partsOf(pages: readonly ShownPage[], groups: number): ShownParts {
  const most = Math.max(...pages.map(({ page }) => page.parts.count));
  const shown = pages.flatMap(({ group, page: { parts } }) => {
    const size = most / parts.count;
    return [group * most + (parts.first - 1) * size + 1, group * most + parts.last * size];
  });
  return { first: Math.min(...shown), last: Math.max(...shown), count: groups * most };
}
