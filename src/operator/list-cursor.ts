// Where a page of a list begins: after a record or before one, in a part of the list. It names no shard that has to be there still, so
// it is as long for any number of shards, and valid when others have been added.

import { MAX_PARTS } from "../kernel/store/list-parts.ts";
import type { ListDirection, ListPosition } from "../kernel/store/list-query.ts";

/** Where a page begins, and in which direction it is read. */
export interface PageBegin {
  readonly direction: ListDirection;
  /** Of a list of many shards, which of their groups (list-groups.ts), counted from 0; `null`: the first one in this direction. */
  readonly group: number | null;
  /** `null`: not known before the first page is read. */
  readonly parts: number | null;
  /** Counted from 0; `null`: the first one in this direction. */
  readonly part: number | null;
  /** `null`: at the beginning of the part in this direction. */
  readonly position: ListPosition | null;
}

/** The cursor of the last page, which has the oldest records. */
export const LAST_PAGE = "last";

export const FIRST: PageBegin = { direction: "after", group: null, parts: null, part: null, position: null };
const LAST: PageBegin = { ...FIRST, direction: "before" };

const CURSOR = /^(after|before)(?:~(\d{1,5})~(\d{1,5})~(?:(\d{1,15})~([0-9a-f]{64}))?)?(?:~~(\d{1,3}))?$/;

/** `isGrouped`: the list has several groups of shards. */
export function writeCursor({ direction, group, parts, part, position }: PageBegin, isGrouped: boolean): string {
  const at = position === null ? "" : `${position.startedAt}~${position.id}`;
  const within = parts === null ? direction : [direction, parts, part, at].join("~");
  return isGrouped ? `${within}~~${group}` : within;
}

/** `null`: no list has written it. */
export function readCursor(cursor: string): PageBegin | null {
  if (cursor === LAST_PAGE) return LAST;
  const [, direction, partsText, partText, startedAt, id = "", groupText] = CURSOR.exec(cursor) ?? [];
  if (direction !== "after" && direction !== "before") return null;
  const group = groupText === undefined ? 0 : Number(groupText);
  // Only a group that has not begun has no parts yet.
  if (partsText === undefined) return groupText === undefined ? null : { ...FIRST, direction, group };
  const [parts, part] = [Number(partsText), Number(partText)];
  const isPossible = parts >= 1 && parts <= MAX_PARTS && Number.isInteger(Math.log2(parts)) && part < parts;
  if (!isPossible) return null;
  const position = startedAt === undefined ? null : { startedAt: Number(startedAt), id };
  return { direction, group, parts, part, position };
}

/** Whether nothing of its group comes before it in its direction. */
export function isEdge({ direction, parts, part, position }: PageBegin): boolean {
  return position === null && (parts === null || part === (direction === "after" ? 0 : parts - 1));
}
