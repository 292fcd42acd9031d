// Where a page of a list begins: after a record or before one, in a part of the list. It names no shard that has to be there still, so
// it is as long for any number of shards, and valid when others have been added.

import { MAX_PARTS } from "../kernel/store/list-parts.ts";
import type { ListDirection, ListPosition } from "../kernel/store/list-query.ts";

/** Where a page begins, and in which direction it is read. */
export interface PageBegin {
  readonly direction: ListDirection;
  /** `null`: not known before the first page is read. */
  readonly parts: number | null;
  /** Counted from 0; `null`: the first one in this direction. */
  readonly part: number | null;
  /** `null`: at the beginning of the part in this direction. */
  readonly position: ListPosition | null;
}

/** The cursor of the last page, which has the oldest records. */
export const LAST_PAGE = "last";

export const FIRST: PageBegin = { direction: "after", parts: null, part: null, position: null };
const LAST: PageBegin = { ...FIRST, direction: "before" };

const CURSOR = /^(after|before)~(\d{1,5})~(\d{1,5})~(?:(\d{1,15})~([0-9a-f]{64}))?$/;

export function writeCursor({ direction, parts, part, position }: PageBegin): string {
  const at = position === null ? "" : `${position.startedAt}~${position.id}`;
  return [direction, parts, part, at].join("~");
}

/** `null`: no list has written it. */
export function readCursor(cursor: string): PageBegin | null {
  if (cursor === LAST_PAGE) return LAST;
  const [, direction, partsText, partText, startedAt, id = ""] = CURSOR.exec(cursor) ?? [];
  const [parts, part] = [Number(partsText), Number(partText)];
  const isPossible = parts >= 1 && parts <= MAX_PARTS && Number.isInteger(Math.log2(parts)) && part < parts;
  if ((direction !== "after" && direction !== "before") || !isPossible) return null;
  return { direction, parts, part, position: startedAt === undefined ? null : { startedAt: Number(startedAt), id } };
}

/** Whether nothing comes before it in its direction. */
export function isEdge({ direction, parts, part, position }: PageBegin): boolean {
  return position === null && (parts === null || part === (direction === "after" ? 0 : parts - 1));
}
