// The cursor of the latest exchanges: until when each group of objects has been read, and which one is read next. Of few objects, there is one group.

/** So many objects are asked by one call. */
export const RECENT_AT_ONCE = 800;

export interface RecentCursor {
  readonly group: number;
  /** By group: the time of the latest exchange that may have been read; 0: the group has not been asked. */
  readonly after: readonly number[];
}

/** `null`: no call has written it. After a change of the number of groups, it begins anew with those that have been added. */
export function readRecentCursor(cursor: string | null, groups: number): RecentCursor | null {
  const [group = 0, ...times] =
    cursor === null ? [] : cursor.includes("~") ? cursor.split("~").map(Number) : [0, Number(cursor)];
  if (![group, ...times].every((one) => Number.isSafeInteger(one) && one >= 0)) return null;
  return { group: group < groups ? group : 0, after: Array.from({ length: groups }, (_, at) => times[at] ?? 0) };
}

/** The cursor after the group has been read up to a time. */
export function writeRecentCursor({ group, after }: RecentCursor, upTo: number): string {
  const times = after.map((time, at) => (at === group ? upTo : time));
  return after.length === 1 ? String(upTo) : [(group + 1) % after.length, ...times].join("~");
}
