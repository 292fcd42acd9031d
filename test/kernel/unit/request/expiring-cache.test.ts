import { expect, it } from "vitest";
import { ExpiringCache } from "../../../../src/kernel/request/expiring-cache.ts";

it("asks again only for what is too old, and keeps no failure", async () => {
  let asked = 0;
  const ask = async (): Promise<number> => {
    asked += 1;
    if (asked === 3) throw new Error("no answer");
    return asked;
  };
  const cache = new ExpiringCache<number>();
  expect(await cache.getOr("a", 0, 1000, ask)).toBe(1);
  expect(await cache.getOr("a", 999, 1000, ask)).toBe(1);
  expect(await cache.getOr("b", 999, 1000, ask)).toBe(2);
  await expect(cache.getOr("a", 1000, 1000, ask)).rejects.toThrow("no answer");
  expect(await cache.getOr("a", 1001, 1000, ask)).toBe(4);
});

it("drops what was used least recently, when there are two thousand", () => {
  const cache = new ExpiringCache<number>();
  for (let n = 0; n < 2000; n += 1) cache.set(`${n}`, n, 10);
  expect(cache.get("0", 0)).toBe(0);
  cache.set("one more", 1, 10);
  expect(cache.get("0", 0)).toBe(0);
  expect(cache.get("1", 0)).toBe(null);
});
