import { expect, it } from "vitest";
import { fairPieceBytes, heldBytes, holdBytes, isFair } from "../../../../src/kernel/body/read-memory.ts";

const SHARED_BYTES = 16 << 20;

it("a reader's piece is an eighth of what is left, and 16 KiB where nothing is", () => {
  const left = SHARED_BYTES - heldBytes();
  const released = [holdBytes(new Uint8Array(left - 800_000))];
  expect(fairPieceBytes()).toBe(100_000);
  released.push(holdBytes(new Uint8Array(900_000)));
  expect([fairPieceBytes(), isFair(16 * 1024), isFair(16 * 1024 + 1)]).toEqual([16 * 1024, true, false]);
  for (const release of released) release();
  expect(heldBytes()).toBe(SHARED_BYTES - left);
});
