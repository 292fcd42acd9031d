// How a feed over many shards goes on: a group of them with each call, and each group from where it was read.

import { expect, it } from "vitest";
import { readRecentCursor, writeRecentCursor } from "../../../src/operator/recent-cursor.ts";

it("of few shards, it is the time until which all have been read", () => {
  expect(readRecentCursor(null, 1)).toEqual({ group: 0, after: [0] });
  expect(writeRecentCursor({ group: 0, after: [5] }, 9)).toBe("9");
  expect(readRecentCursor("9", 1)).toEqual({ group: 0, after: [9] });
});

it("of many, each group is read from where it has been read, in turn", () => {
  let cursor: string | null = null;
  const read: (readonly [group: number, after: number])[] = [];
  for (let call = 1; call <= 5; call += 1) {
    const begin = readRecentCursor(cursor, 3);
    if (begin === null) throw new Error("no cursor");
    read.push([begin.group, begin.after[begin.group] ?? -1]);
    cursor = writeRecentCursor(begin, call * 10);
  }
  expect(read).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
    [0, 10],
    [1, 20],
  ]);
});

it("goes on when the number of groups has changed", () => {
  expect(readRecentCursor("2~10~20~30", 2)).toEqual({ group: 0, after: [10, 20] });
  expect(readRecentCursor("0~10~20", 3)).toEqual({ group: 0, after: [10, 20, 0] });
  expect(readRecentCursor("10", 3)).toEqual({ group: 0, after: [10, 0, 0] });
});

it.each(["x", "-1", "1~x", "1~-5", "1.5"])("that no call has written is refused: %j", (cursor) => {
  expect(readRecentCursor(cursor, 2)).toBeNull();
});
