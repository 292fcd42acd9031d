import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ListedKeys } from "../../../../src/kernel/record/held-keys.ts";

const hash = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""));

const shortHash = (keyHash: string): string => keyHash.slice(8, 16);

describe("what an elder has listed", () => {
  it("tells of exactly the keys that a list covers, whichever are there", () => {
    fc.assert(
      fc.property(fc.array(hash), fc.array(hash), fc.array(fc.tuple(hash, fc.nat(3))), (held, others, about) => {
        const listed = new ListedKeys();
        const begins = about.map(([one, digits]) => one.slice(0, digits));
        for (const begin of begins) {
          listed.add({
            begin,
            hashes: held
              .filter((one) => one.startsWith(begin))
              .map(shortHash)
              .join(""),
          });
        }
        for (const one of held) expect(listed.mayHold(one)).toBe(true);
        for (const one of others) {
          const isCovered = begins.some((begin) => one.startsWith(begin));
          const isLike = held.some((other) => shortHash(other) === shortHash(one));
          expect(listed.covers(one)).toBe(isCovered);
          expect(listed.mayHold(one)).toBe(!isCovered || isLike);
        }
      }),
    );
  });
});
