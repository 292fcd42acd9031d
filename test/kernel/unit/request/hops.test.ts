// What an object reads in the answer of its elder.

import { expect, it } from "vitest";
import { answerIn, type ElderReply } from "../../../../src/kernel/previous-shards/hops.ts";

const replyWith = (held: unknown): ElderReply =>
  JSON.parse(JSON.stringify({ here: false, next: {}, elders: [], held }));

it.each([
  [
    { begin: "", hashes: "01234567" },
    { begin: "", hashes: "01234567" },
  ],
  [
    { begin: "abc", hashes: "" },
    { begin: "abc", hashes: "" },
  ],
  [null, null],
  // Development versions listed whole hashes.
  [[], null],
  [["0123456789abcdef0123456789abcdef"], null],
  [undefined, null],
  [{ left: [] }, null],
])("takes a list of keys that it cannot read for none: %j", (held, expected) => {
  expect(answerIn(replyWith(held)).held).toEqual(expected);
});
